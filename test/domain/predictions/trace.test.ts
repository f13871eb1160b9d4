/** Trace contexts: which are honoured, and the ids of spans. */
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import {
  beginTrace,
  readTraceparent,
  spanIdOf,
  traceparentOf,
} from "../../../src/domain/predictions/trace.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";
const route = "POST /v1/predictions";

test("a traceparent names the trace, the caller's span, and whether it is sampled", () => {
  const incoming = { trace_id: TRACE, parent_id: PARENT };
  expect(readTraceparent(`00-${TRACE}-${PARENT}-01`)).toEqual({ ...incoming, isSampled: true });
  expect(readTraceparent(`00-${TRACE}-${PARENT}-00`)).toEqual({ ...incoming, isSampled: false });
  expect(readTraceparent(`00-${TRACE}-${PARENT}-03`)).toEqual({ ...incoming, isSampled: true });
  // A later version may have further fields.
  expect(readTraceparent(`cc-${TRACE}-${PARENT}-01-what`)).toEqual({
    ...incoming,
    isSampled: true,
  });
});

test.each([
  undefined,
  "",
  "00",
  `00-${TRACE}-${PARENT}`,
  `00-${TRACE}-${PARENT}-01-more`,
  `00-${TRACE.toUpperCase()}-${PARENT}-01`,
  `ff-${TRACE}-${PARENT}-01`,
  `00-${"0".repeat(32)}-${PARENT}-01`,
  `00-${TRACE}-${"0".repeat(16)}-01`,
  `00-${TRACE}x-${PARENT}-01`,
  `00-${TRACE}-${PARENT}-1`,
])("a traceparent that is missing or invalid is no trace: %s", (header) => {
  expect(readTraceparent(header)).toBeUndefined();
  const begun = beginTrace({ route, traceparent: header }, 1);
  expect(begun).toEqual({
    trace_id: expect.stringMatching(/^[0-9a-f]{32}$/),
    parent_id: null,
    span_id: expect.stringMatching(/^[0-9a-f]{16}$/),
    route,
  });
  expect(begun?.trace_id).not.toBe(TRACE);
});

test("the caller's flag decides whatever the sample rate, which decides for all other requests", () => {
  const traceparent = `00-${TRACE}-${PARENT}-01`;
  expect(beginTrace({ route, traceparent }, 0)).toMatchObject({
    trace_id: TRACE,
    parent_id: PARENT,
  });
  expect(beginTrace({ route, traceparent: traceparent.replace(/1$/, "0") }, 1)).toBeUndefined();
  expect(beginTrace({ route, traceparent: undefined }, 0)).toBeUndefined();
  const random = vi.spyOn(Math, "random");
  const isTraced = (chance: number) => {
    random.mockReturnValue(chance);
    return beginTrace({ route, traceparent: undefined }, 0.25) !== undefined;
  };
  expect([0, 0.24, 0.25, 0.9].map(isTraced)).toEqual([true, true, false, false]);
  random.mockRestore();
});

test("the ids of the spans of all attempts differ, and none is that of the request", () => {
  const hexOf = (length: number) =>
    fc.stringMatching(new RegExp(`^[0-9a-f]{${length}}$`)).filter((id) => !/^0+$/.test(id));
  fc.assert(
    fc.property(hexOf(32), hexOf(16), (trace_id, span_id) => {
      const trace = { trace_id, parent_id: null, span_id, route };
      const ids = Array.from({ length: 40 }, (_, attempt) => [
        spanIdOf(trace, attempt, "queue"),
        ...(attempt > 0
          ? (["run", "setup", "pull", "start"] as const).map((span) =>
              spanIdOf(trace, attempt, span),
            )
          : []),
      ]).flat();
      for (const id of ids) expect(id).toMatch(/^[0-9a-f]{16}$/);
      expect(new Set([span_id, ...ids]).size).toBe(ids.length + 1);
      const sent = readTraceparent(traceparentOf(trace, 3));
      expect(sent).toEqual({
        trace_id,
        parent_id: spanIdOf(trace, 3, "run"),
        isSampled: true,
      });
    }),
  );
});
