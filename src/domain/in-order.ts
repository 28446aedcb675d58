/** Items one after the other, at hand or still to come. */
export type Items<Item> = Iterable<Item> | AsyncIterable<Item>;

/**
 * Calls `act` for each item, for up to `most` of them at once, and yields the answers in the order of the items. It takes items no faster
 * than its caller takes answers. After a rejection it begins nothing more, and rejects with it in its turn.
 */
export async function* inOrder<Item, Answer>(
  items: Items<Item>,
  most: number,
  act: (item: Item) => Promise<Answer>,
): AsyncGenerator<Answer> {
  const begun: Promise<Answer>[] = [];
  let hasFailed = false;
  for await (const item of items) {
    const answer = act(item);
    answer.catch(() => {
      hasFailed = true; // it rejects in its turn
    });
    begun.push(answer);
    if (hasFailed) break;
    if (begun.length >= most) yield (await begun.shift()) as Answer;
  }
  for (const answer of begun) yield await answer;
}
