/** Waits for steps, by name, that another process or the sandbox has seen. */
export function createSteps() {
  const waiting = new Map<string, () => void>();
  return {
    next: (name: string): Promise<void> => new Promise((resolve) => waiting.set(name, resolve)),
    done(name: string): void {
      waiting.get(name)?.();
      waiting.delete(name);
    },
  };
}
