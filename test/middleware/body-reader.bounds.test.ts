/** Bounds on bodies: their speed, their size, and the room for all bodies together. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ValidationFailure } from "../../src/domain/schemas/validation.ts";
import { ProblemError } from "../../src/errors/errors.ts";
import { duringRequest } from "../../src/lib/current-request.ts";
import { BODY_BOUNDS, BodyReader, MAX_BODY_BYTES } from "../../src/middleware/body-reader.ts";

const MIB = 1024 * 1024;
const ADA = { owner: "ada", maxBytes: MAX_BODY_BYTES, bounds: BODY_BOUNDS };

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Returns a body whose bytes the test sends. */
function sent({ owner = "ada", maxBytes = MAX_BODY_BYTES, headers = {} } = {}) {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const leaving = new AbortController();
  const request = new Request("https://auspex.test", {
    method: "POST",
    body: readable,
    headers,
    signal: leaving.signal,
    duplex: "half",
  });
  const reader = new BodyReader(request, { ...ADA, owner, maxBytes });
  return {
    reader,
    /**
     * Reads the body like a request of the Worker does: its held bytes are released when its client leaves.
     */
    read: () => duringRequest({ signal: leaving.signal, waitUntil: () => {} }, () => reader.json()),
    leave: () => leaving.abort(),
    /** Sends spaces, which are a valid beginning of JSON. */
    come: (bytes: number, piece = bytes) => {
      for (let left = bytes; left > 0; left -= piece)
        writer.write(new Uint8Array(Math.min(piece, left)).fill(32)).catch(() => {});
      return vi.advanceTimersByTimeAsync(0);
    },
    end: () => writer.close().catch(() => {}),
  };
}

/** Returns a function that gives the outcome so far: the length, the reason of a refusal, or undefined. */
function outcomeOf(reading: Promise<Uint8Array>) {
  let outcome: number | string | undefined;
  reading.then(
    (read) => {
      outcome = read.byteLength;
    },
    (error) => {
      outcome = error instanceof ProblemError ? error.code : error.constructor.name;
    },
  );
  return async () => {
    // The waiting bodies check every 10 ms.
    await vi.advanceTimersByTimeAsync(10);
    return outcome;
  };
}

describe("a body", () => {
  test("a body that comes in pieces is one text", async () => {
    const { reader, come, end } = sent();
    const outcome = outcomeOf(reader.json());
    for (let n = 0; n < 10; n++) await come(100_000);
    expect(await outcome()).toBeUndefined();
    end();
    expect(await outcome()).toBe(1_000_000);
    reader.release();
  });

  test("a body with too many bytes is refused: as announced, or as they come", async () => {
    const said = sent({ headers: { "content-length": String(MAX_BODY_BYTES + 1) } });
    await expect(said.reader.json()).rejects.toThrow("at most 10 MiB");
    const { reader, come } = sent({ maxBytes: 1_000 });
    const outcome = outcomeOf(reader.json());
    await come(1_001);
    expect(await outcome()).toBe("too_large");
  });

  test("a body brings at least 160 kB in 10 s, or all that is left", async () => {
    const slow = sent();
    const fast = sent({ owner: "lewis" });
    const stalled = sent({ owner: "alice" });
    const outcomes = [slow, fast, stalled].map(({ reader }) => outcomeOf(reader.json()));
    await stalled.come(5 * MIB, MIB);
    for (let seconds = 0; seconds < 60; seconds++) {
      await slow.come(10_000);
      await fast.come(17_000);
      await vi.advanceTimersByTimeAsync(1_000);
    }
    fast.end();
    expect(await Promise.all(outcomes.map((outcome) => outcome()))).toEqual([
      "request_timeout",
      60 * 17_000,
      "request_timeout",
    ]);
    slow.reader.release();
    fast.reader.release();
    stalled.reader.release();
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a small body must come within 10 s", async () => {
    const [slow, fast] = [10_000, 10_000].map((length) =>
      sent({ headers: { "content-length": String(length) } }),
    );
    if (!slow || !fast) return expect.fail();
    const outcomes = [slow, fast].map(({ reader }) => outcomeOf(reader.json()));
    await slow.come(9_999, 1_000);
    await fast.come(10_000, 1_000);
    fast.end();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await Promise.all(outcomes.map((outcome) => outcome()))).toEqual([
      "request_timeout",
      10_000,
    ]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a form has at most 10,000 fields, in either format", async () => {
    for (const part of ["a=1&", '\r\n--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1']) {
      const request = new Request("https://auspex.test", {
        method: "POST",
        body: part.repeat(10_001),
      });
      const form = new BodyReader(request, ADA).form();
      await expect(form).rejects.toThrow("10000 fields");
    }
  });

  test("a body that is nested too deep is refused before the rest has come", async () => {
    const request = new Request("https://auspex.test", { method: "POST", body: "[".repeat(129) });
    const reader = new BodyReader(request, ADA);
    await expect(reader.json()).rejects.toThrow(ValidationFailure);
  });
});

describe("of all bodies", () => {
  test("bodies of one account wait for each other, and those of others do not wait for them", async () => {
    const own = Array.from({ length: 4 }, () => sent());
    const outcomes = own.map(({ reader }) => outcomeOf(reader.json()));
    for (const { come } of own) await come(9 * MIB, MIB);
    const other = sent({ owner: "lewis" });
    const otherOutcome = outcomeOf(other.reader.json());
    await other.come(4 * MIB, MIB);
    other.end();
    expect(await otherOutcome()).toBe(4 * MIB);
    for (const [n, { reader, end }] of own.entries()) {
      end();
      expect(await outcomes[n]?.()).toBe(9 * MIB);
      reader.release();
    }
    other.reader.release();
  });

  test("bodies that find no room in 10 s are refused with the time of a retry", async () => {
    const held = [sent(), sent()];
    for (const { reader, come, end } of held) {
      const outcome = outcomeOf(reader.json());
      await come(10 * MIB, MIB);
      end();
      expect(await outcome()).toBe(10 * MIB);
    }
    const late = sent();
    const reading = late.reader.json();
    const outcome = outcomeOf(reading);
    await late.come(10 * MIB, MIB);
    await vi.advanceTimersByTimeAsync(9_000);
    expect(await outcome()).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1_000);
    await expect(reading).rejects.toMatchObject({
      code: "unavailable",
      headers: { "retry-after": "5" },
    });
    for (const { reader } of [...held, late]) reader.release();
  });

  test("bodies whose senders have disconnected hold nothing", async () => {
    for (let n = 0; n < 10; n++) {
      const { read, come, leave } = sent();
      outcomeOf(read());
      await come(9 * MIB, MIB);
      leave();
    }
    const last = sent();
    const outcome = outcomeOf(last.reader.json());
    await last.come(10 * MIB, MIB);
    last.end();
    expect(await outcome()).toBe(10 * MIB);
    last.reader.release();
  });
});
