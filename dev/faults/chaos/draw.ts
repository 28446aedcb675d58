/** Random draws for a plan. All numbers are whole. */
export interface Draw {
  between(least: number, most: number): number;
  oneOf<T>(choices: readonly T[]): T;
  /** True with this chance, 0 to 1. */
  chance(share: number): boolean;
  /** Instants below `untilMs`, on average `everyMs` apart, the first one soon. */
  instants(everyMs: number, untilMs: number): number[];
  /** Deals the cards in a random order, then all of them again. */
  deck<T>(cards: readonly T[]): () => T;
}

/** `random` gives 0 to 1. */
export function createDraw(random: () => number): Draw {
  const between = (least: number, most: number): number => least + Math.floor(random() * (most - least + 1));
  const oneOf = <T>(choices: readonly T[]): T => choices[between(0, choices.length - 1)] as T;
  return {
    between,
    oneOf,
    chance: (share) => random() < share,
    instants(everyMs, untilMs) {
      const instants: number[] = [];
      const gap = () => between(Math.round(everyMs * 0.5), Math.round(everyMs * 1.5));
      for (let at = between(0, Math.round(everyMs)); at < untilMs; at += gap()) instants.push(at);
      return instants;
    },
    deck(cards) {
      let left: (typeof cards)[number][] = [];
      return () => {
        if (left.length === 0) left = [...cards];
        return left.splice(between(0, left.length - 1), 1)[0] as (typeof cards)[number];
      };
    },
  };
}
