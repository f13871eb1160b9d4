/**
 * What `work` makes of each item, in order. So many are begun at most that were not taken yet, and none
 * before the first is asked for.
 */
export async function* mapAhead<Item, Result>(
  items: Item[],
  ahead: number,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const begun: Promise<Result>[] = [];
  for (const item of items) {
    const result = work(item);
    // Nobody may come to take it.
    result.catch(() => {});
    begun.push(result);
    if (begun.length < ahead) continue;
    yield* begun.splice(0, 1);
  }
  yield* begun;
}
