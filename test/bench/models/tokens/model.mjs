import { setTimeout as sleep } from "node:timers/promises";
import { serve } from "../../../../runner/examples/shared/cog.mjs";
import manifest from "./auspex.json" with { type: "json" };

serve(manifest, {
  async *predict({ count, per_second }, { signal }) {
    const began = performance.now();
    for (let made = 0; made < count; made++) {
      // The wait follows an absolute timetable, so that late timers do not add up to a slower stream.
      const wait = began + (made * 1000) / per_second - performance.now();
      if (wait > 0) await sleep(wait, undefined, { signal });
      // The output is CLOCK_MONOTONIC in ns, which the processes of one machine share.
      yield String(process.hrtime.bigint());
    }
  },
});
