/** The forms of a secret in a text: raw, URL-encoded, hex, and base64 at each of its three offsets. */
export function formsOf(secret: string): string[] {
  const offsets = [0, 1, 2].flatMap((offset) => {
    const encoded = Buffer.from('x'.repeat(offset) + secret).toString('base64');
    // The first and last characters also depend on the neighbours of the secret.
    return [encoded.slice(offset === 0 ? 0 : 4, -4)];
  });
  const urlSafe = offsets.map((form) => form.replaceAll('+', '-').replaceAll('/', '_'));
  const forms = [secret, encodeURIComponent(secret), Buffer.from(secret).toString('hex'), ...offsets, ...urlSafe];
  return [...new Set(forms)];
}

/** The leaked secrets, as `text: name`. */
export function findLeaks(secrets: Record<string, string>, texts: Record<string, Buffer>): string[] {
  const forms = Object.entries(secrets).map(([name, secret]) => [name, formsOf(secret)] as const);
  return Object.entries(texts).flatMap(([where, text]) =>
    forms.filter(([, variants]) => variants.some((form) => text.includes(form))).map(([name]) => `${where}: ${name}`),
  );
}
