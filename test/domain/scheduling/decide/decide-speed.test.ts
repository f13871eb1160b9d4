import { expect, test } from "vitest";
import { decide } from "../../../../src/domain/scheduling/decide/decide.ts";
import { LARGE_POOLS, largePool, NOW } from "../../../simulate/large-pool.ts";

test.each(Object.entries(LARGE_POOLS))(
  "a decision among 20,000 containers that %s takes less than 2 ms",
  (_name, pool) => {
    const state = largePool(pool);
    const taken = Array.from({ length: 20 }, () => {
      const began = performance.now();
      const decision = decide(state, NOW);
      const took = performance.now() - began;
      state.apply(decision, NOW);
      return took;
    });
    // `npm run simulate` measures 0.2 ms; a machine may be ten times slower.
    expect(Math.min(...taken)).toBeLessThan(2);
  },
);
