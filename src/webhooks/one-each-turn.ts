/**
 * Makes the function that lets callers with the same name go on one by one, each in another turn of the event loop: large bodies that came
 * together at one address do not stop the ingress for the others.
 */
export function oneEachTurn(): (name: string) => Promise<void> {
  const lines = new Map<string, (() => void)[]>();

  function turn(): void {
    for (const [name, line] of lines) {
      line.shift()?.();
      if (line.length === 0) lines.delete(name);
    }
    if (lines.size > 0) setImmediate(turn);
  }

  return (name) =>
    new Promise((resolve) => {
      if (lines.size === 0) setImmediate(turn);
      const line = lines.get(name) ?? [];
      lines.set(name, line);
      line.push(resolve);
    });
}
