// Times in the zone of the viewer, and pages that are shown anew when something has changed. Pages work without it.

// With the zone: when clocks go back, one hour comes twice.
const zone = new Intl.DateTimeFormat(undefined, {
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  hour: 'numeric',
  minute: '2-digit',
  second: '2-digit',
  timeZoneName: 'short',
});

function showTimes(part) {
  for (const time of part.querySelectorAll('time[datetime]')) {
    time.title = time.textContent;
    time.textContent = zone.format(new Date(time.dateTime));
  }
}

const main = document.querySelector('main');
const live = document.querySelector('#live');
const pauseMs = 1000;
const signInAfterMs = 5000;
let isWaiting = false;

/** A person who is about to press a button must not have it taken away. */
const isBusy = () =>
  main.querySelector('details[open]') !== null || main.contains(document.activeElement?.closest('form'));

async function showAnew() {
  if (isWaiting) return;
  isWaiting = true;
  await new Promise((done) => setTimeout(done, pauseMs + Math.random() * pauseMs));
  isWaiting = false;
  if (isBusy()) {
    live.textContent = 'There is something new: close the button that is open, then reload the page.';
    return;
  }
  const answer = await fetch(location.href, { headers: { accept: 'text/html' } }).catch(() => undefined);
  if (!answer?.ok || answer.redirected) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html').querySelector('main');
  if (!fresh || isBusy()) return;
  const place = document.activeElement?.getAttribute('href');
  const note = main.querySelector('#note');
  main.replaceChildren(...fresh.childNodes);
  if (note) main.querySelector('h1')?.after(note);
  showTimes(main);
  if (place) main.querySelector(`a[href="${CSS.escape(place)}"]`)?.focus();
  live.textContent = `Live. Shown anew at ${zone.format(new Date())}.`;
}

/** The session is over, or the desk is away. The provider mostly lets the browser in again without a person. */
async function signInAgain() {
  const answer = isBusy() ? undefined : await fetch(location.href, { redirect: 'manual' }).catch(() => undefined);
  if (answer?.ok || answer?.status === 401 || answer?.type === 'opaqueredirect') location.reload();
  else signInSoon();
}

/** Pages of one browser end together: not all of them should go to the provider. */
const signInSoon = () => setTimeout(signInAgain, signInAfterMs * (1 + Math.random()));

showTimes(document);
if (main.dataset.live) {
  const changes = new EventSource('/live');
  let wasOpen = false;
  changes.onopen = () => {
    live.textContent = 'Live.';
    if (wasOpen) void showAnew(); // what came meanwhile is not told again
    wasOpen = true;
  };
  changes.onerror = () => {
    live.textContent = 'Not live for the moment.';
    if (changes.readyState === EventSource.CLOSED) signInSoon();
  };
  // Another page has signed out: this one must not sign in again on its own, nor go on showing what it has.
  changes.addEventListener('signedOut', () => {
    changes.close();
    main.textContent = 'Signed out. Reload the page to sign in again.';
  });
  changes.onmessage = ({ data }) => {
    const topics = JSON.parse(data);
    if (topics.includes(main.dataset.live) || topics.includes('all')) void showAnew();
  };
}
