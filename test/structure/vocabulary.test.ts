import { expect, it } from 'vitest';
import { filesBelow, type TextFile } from './project-files.js';

/** One thing has one word: the table of the style page, "Names". */
interface Entry {
  say: string;
  /** Words, or parts of a name in camel, kebab or snake case, in lower case. */
  not: readonly string[];
  /** Beginnings of paths. */
  where: readonly string[];
  /** Where the word means something else. Each must still be needed. */
  except?: readonly Exception[];
}

interface Exception {
  /** Beginning of a path. */
  path: string;
  /** What the line then holds. */
  line: RegExp;
  why: string;
}

const everywhere = ['src/', 'local/', 'sandbox/'];

const vocabulary: readonly Entry[] = [
  {
    say: 'follow',
    not: ['track', 'tracks', 'tracked', 'tracking'],
    where: ['src/', 'local/'],
  },
  { say: 'account', not: ['tenant', 'tenants'], where: everywhere },
  { say: 'interface', not: ['backend', 'backends'], where: everywhere },
  { say: 'client credentials, access token, sealed', not: ['login', 'jwt', 'masked', 'blob'], where: ['src/'] },
  {
    say: 'order, ride',
    not: ['booking', 'bookings'],
    where: ['src/'],
  },
  {
    say: 'run, workflow',
    not: ['job', 'jobs', 'saga'],
    where: everywhere,
    except: [
      { path: 'local/prometheus.ts', line: /jobs?\b|job_name/, why: "Prometheus's word for the targets of one kind" },
      { path: 'src/workflows/sdk-core-1146.ts', line: /activation|jobs\?/, why: "the SDK's word for parts of a task" },
    ],
  },
  {
    say: 'passenger',
    not: ['customer', 'customers'],
    where: everywhere,
    except: [{ path: '', line: /[Cc]ustomer ?[Cc]are/, why: 'a status of the service, and its attention code' }],
  },
  { say: 'on-demand, scheduled', not: ['asap', 'prebook', 'prebooked'], where: everywhere },
  {
    say: 'delivery address',
    not: ['hook', 'hooks', 'callback url'],
    where: ['src/'],
    except: [
      { path: 'src/', line: /hook_address/, why: "the service's field" },
      { path: 'src/', line: /addHook\(|in this hook:/, why: "fastify's word" },
      { path: 'src/threaded-deliveries.ts', line: /async hooks/, why: "Node's word" },
      { path: 'src/activities/watch/watching.ts', line: /node:async_hooks/, why: "Node's word" },
    ],
  },
  {
    say: 'delivery',
    not: ['event', 'events', 'notification', 'notifications'],
    where: ['src/webhooks/', 'src/domain/delivery.ts', 'src/temporal/deliveries.ts', 'src/activities/delivery.ts'],
    except: [
      { path: 'src/', line: /event ?types?|event_type/i, why: "the service's name for what can be subscribed to" },
      {
        path: 'src/webhooks/',
        line: /'node:events'|eventTurnBatching/,
        why: "words of Node and of the journal's store",
      },
    ],
  },
  {
    say: 'delivery (a notice goes out)',
    not: ['notice', 'notices'],
    where: ['src/webhooks/', 'src/temporal/deliveries.ts', 'src/activities/delivery.ts'],
    except: [
      { path: 'src/', line: /\w*DeliveryNotice/, why: 'the published name of the shape that a signal carries' },
      { path: 'src/webhooks/', line: /to notice (when|that)/, why: 'a verb' },
    ],
  },
  {
    say: 'notice (a delivery comes in)',
    not: ['delivery', 'deliveries'],
    where: ['src/notify-http/', 'src/workflows/notify/', 'src/domain/notify/'],
  },
  { say: 'journal', not: ['spool', 'outbox'], where: ['src/'] },
  { say: 'parked delivery', not: ['dead letter', 'dead letters'], where: ['src/webhooks/', 'src/domain/parked.ts'] },
  {
    say: 'what it is for',
    not: ['utils', 'util', 'helpers', 'helper', 'manager'],
    where: ['src/', 'sandbox/'],
    except: [{ path: 'src/', line: /'node:util'/, why: "Node's module" }],
  },
];

/** Lines that say one thing with another thing's word, and exceptions that nothing needs any more. */
function strayWords(files: readonly TextFile[], entries: readonly Entry[] = vocabulary): string[] {
  const needed = new Set<Exception>();
  const strays = entries.flatMap((entry) =>
    files
      .filter(({ path }) => entry.where.some((start) => path.startsWith(start)))
      .flatMap(({ path, text }) =>
        [path, ...text.split('\n')].flatMap((line, number) => {
          const word = wordsIn(line).find((one) => entry.not.includes(one));
          if (word === undefined) return [];
          const excuse = entry.except?.find((one) => path.startsWith(one.path) && one.line.test(line));
          if (excuse) needed.add(excuse);
          return excuse ? [] : [`${path}:${number} says "${word}": say ${entry.say}`];
        }),
      ),
  );
  const unneeded = entries
    .flatMap(({ except = [] }) => except)
    .filter((one) => !needed.has(one))
    .map(({ path, line }) => `nothing in ${path || 'any file'} needs the exception ${line} any more`);
  return [...strays, ...unneeded];
}

/** The parts of names and words, in lower case, and each two neighbours as one: of `hook_address` and `hookAddress` "hook", "address"
 *  and "hook address". */
function wordsIn(line: string): string[] {
  const words = line.split(/[^A-Za-z]+|(?<=[a-z])(?=[A-Z])/).map((word) => word.toLowerCase());
  return [...words, ...words.slice(1).map((word, before) => `${words[before]} ${word}`)];
}

it('the code calls each thing by its one word', () => {
  const files = ['src', 'local', 'sandbox'].flatMap(filesBelow).filter(({ path }) => path.endsWith('.ts'));
  expect(strayWords(files)).toEqual([]);
});

it('the check of words finds another word in a path, a name and a sentence, and an exception without use', () => {
  const exception = { path: 'src/', line: /spoolSize/, why: 'for this test' };
  const entry = { say: 'journal', not: ['spool'], where: ['src/'], except: [exception] };
  const text = 'const maxSpoolSize = 1;\n// The spool is full.\nspoolSize();';
  expect(strayWords([{ path: 'src/spool.ts', text }], [entry])).toEqual([
    'src/spool.ts:0 says "spool": say journal',
    'src/spool.ts:1 says "spool": say journal',
    'src/spool.ts:2 says "spool": say journal',
  ]);
  expect(strayWords([{ path: 'src/journal.ts', text: '' }], [entry])).toHaveLength(1);
});
