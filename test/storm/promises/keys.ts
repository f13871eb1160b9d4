/** No create counts twice. */
import { callIn, eachOf, type StormPromise } from "./promise.ts";

export const oneIdPerKey: StormPromise = {
  name: "all answers under one key name one prediction",
  check: eachOf(
    ({ calls }) => calls.filter(({ call, accepted }) => call.parallel && accepted.length > 0),
    ({ call, accepted }) => {
      const ids = [...new Set(accepted.map(({ id }) => id))];
      return ids.length === 1 ? [] : [{ n: call.n, what: `under its key are ${ids}` }];
    },
  ),
};

export const nothingTwice: StormPromise = {
  name: "no create has made more predictions than it was sent, and under a key one",
  check(history) {
    const made = new Map<number, string[]>();
    for (const end of history.ends) {
      const n = callIn(end);
      if (n !== undefined) made.set(n, [...(made.get(n) ?? []), end.id]);
    }
    const breaches = history.calls.flatMap(({ call, sent }) => {
      const ids = made.get(call.n) ?? [];
      if (ids.length <= (call.parallel ? 1 : sent)) return [];
      return [{ n: call.n, id: ids[0], what: `sent ${sent} times, it has made ${ids}` }];
    });
    return { checked: made.size, breaches };
  },
};
