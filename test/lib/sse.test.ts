import fc from "fast-check";
import { expect, test } from "vitest";
import { encodeEvent, HEARTBEAT } from "../../src/lib/sse.ts";

test("an event is three lines and an empty one", () => {
  expect(encodeEvent(7, "output", "héllo\n")).toBe('id: 7\nevent: output\ndata: "héllo\\n"\n\n');
});

test("a heartbeat is a comment line without a blank line after it", () => {
  expect(HEARTBEAT).toMatch(/^:.*\n$/);
});

test("no value ends its data line early", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const [id, event, data, ...rest] = encodeEvent(1, "output", value).split(/\r\n|\r|\n/);
      expect([id, event, ...rest]).toEqual(["id: 1", "event: output", "", ""]);
      expect(JSON.parse(data?.slice("data: ".length) ?? "")).toEqual(
        JSON.parse(JSON.stringify(value)),
      );
    }),
  );
});
