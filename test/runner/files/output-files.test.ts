/** Files out of real processes, through the real client, into a control plane with its troubles. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Json } from "../../../src/protocol/common.ts";
import { MAX_INLINE_OUTPUT } from "../../../src/protocol/event.ts";
import { MAX_WHOLE_FILE } from "../../../src/protocol/runner.ts";
import { type Box, openBox, record, signals } from "../support/containers.ts";

vi.setConfig({ testTimeout: 15_000 });

type Steps = Record<string, Record<string, Json>>[];

const items = { variables: { ITERATOR: "1" } };
const declared = { variables: { DECLARES: "1" } };
const dataUri = (type: string, text: string) =>
  `data:${type};base64,${Buffer.from(text).toString("base64")}`;

let box: Box;
beforeEach(async () => {
  box = await openBox();
});
afterEach(async () => {
  // Nothing of a run stays on the disk once it has ended.
  await vi.waitFor(() => {
    const left = readdirSync(join(box.directory, "cache/outputs"), { recursive: true });
    expect(left.filter((path) => String(path).includes("/"))).toEqual([]);
  });
  await box.close();
  await vi.waitFor(() => expect(box.processes()).toEqual([]));
});

const run = (steps: Steps, ...more: [Parameters<Box["run"]>[2]?, Parameters<Box["run"]>[3]?]) =>
  box.run("files", { steps }, ...more);

/** What the address leads to. */
const stored = (address: unknown) => box.plane.files.stored.get(String(address));
const textOf = (address: unknown) => stored(address)?.bytes.toString();

/** Stores wait until the test lets them go. */
function hold(which = (_url: string) => true) {
  const gate = Promise.withResolvers<undefined>();
  box.plane.files.trouble = ({ url = "" }) => (which(url) ? gate.promise : undefined);
  return () => gate.resolve(undefined);
}

/** A model needs longer to start on a busy machine than `waitFor` waits by itself. */
const BUSY_MS = 10_000;

describe("an upload of the container", () => {
  it("becomes an address of the service, with its name and type", async () => {
    const { reporter, finish } = run([
      { put: { name: "cat%20one.png", text: "meow", type: "image/png", as: "cat" } },
      { say: { value: "$cat" } },
    ]);
    expect(await finish).toMatchObject({ status: "succeeded", output: "value" });
    const [address] = reporter.of("output");
    expect(stored(address)).toEqual({
      lease: "lease",
      name: "cat one.png",
      mime_type: "image/png",
      bytes: Buffer.from("meow"),
    });
  });

  it("is told from others of the same name, and stored once though it is said twice", async () => {
    const value = { first: "$a", list: ["$b", "$a", { deep: ["$b"] }], text: "$ a" };
    const { reporter, finish } = run([
      { put: { name: "out.txt", text: "one", as: "a" } },
      { put: { name: "out.txt", text: "two", as: "b" } },
      { say: { value } },
    ]);
    expect(await finish).toMatchObject({ status: "succeeded" });
    const [one, two] = ["one", "two"].map((text) =>
      [...box.plane.files.stored].flatMap(([url, { bytes }]) =>
        bytes.toString() === text ? [url] : [],
      ),
    );
    expect([one?.length, two?.length]).toEqual([1, 1]);
    const [a, b] = [one?.[0], two?.[0]];
    expect(reporter.of("output")).toEqual([{ first: a, list: [b, a, { deep: [b] }], text: "$ a" }]);
  });

  it("goes in parts when it is large, byte for byte", async () => {
    const size = MAX_WHOLE_FILE + 1;
    const { reporter, finish } = run([
      { put: { name: "big.bin", size, text: "0123456", as: "big" } },
      { say: { value: "$big" } },
    ]);
    expect(await finish).toMatchObject({ status: "succeeded" });
    expect(stored(reporter.of("output")[0])?.bytes.equals(Buffer.alloc(size, "0123456"))).toBe(
      true,
    );
    expect(box.plane.files.requests.filter((call) => call.startsWith("PUT"))).toHaveLength(2);
  });

  it("need not be said", async () => {
    const { finish } = run([
      { put: { name: "unsaid.txt", text: "x", as: "x" } },
      { say: { value: "done" } },
    ]);
    expect(await finish).toMatchObject({ status: "succeeded" });
    expect(box.plane.files.stored.size).toBe(0);
  });

  it("is its run's, and nobody else's, with several in a container", async () => {
    const limits = { max_concurrency: 2 };
    const steps = (text: string): Steps => [
      { meet: { at: "begin" } },
      { put: { name: "out.txt", text, as: "mine" } },
      { meet: { at: "put" } },
      { say: { value: "$mine" } },
    ];
    const [one, two] = [run(steps("one"), { limits }), run(steps("two"), { limits })];
    expect(await one.finish).toMatchObject({ status: "succeeded" });
    expect(await two.finish).toMatchObject({ status: "succeeded" });
    expect(textOf(one.reporter.of("output")[0])).toBe("one");
    expect(textOf(two.reporter.of("output")[0])).toBe("two");
  });

  it("goes with its run: whoever says its address later has no file", async () => {
    const put = { put: { name: "a.txt", text: "a", as: "a" } };
    expect(await run([put, { say: { value: "$a" } }]).finish).toMatchObject({
      status: "succeeded",
    });
    const { reporter, finish } = run([{ say: { value: "$$a" } }]);
    const message = expect.stringContaining(
      "the URL of a file that does not exist, or no longer exists",
    );
    const error = { source: "external", message };
    expect(await finish).toMatchObject({ status: "failed", output: "none", error });
    expect(reporter.of("output")).toEqual([]);
  });
});

describe("an upload that fails", () => {
  it("fails the run, though its item is just missing", async () => {
    const { reporter, finish } = run(
      [
        { say: { value: "before" } },
        { put: { name: "cut.bin", size: 100_000, cutAt: 50_000, as: "cut" } },
        { say: { value: "after" } },
      ],
      items,
    );
    const message = expect.stringMatching(/cut\.bin failed: the connection was closed$/);
    expect(await finish).toMatchObject({
      status: "failed",
      output: "items",
      error: { source: "external", message },
    });
    expect(reporter.of("output")).toEqual(["before", "after"]);
  });

  it("because the file is too large is the container's doing", async () => {
    const { finish } = run([
      { put: { name: "huge.bin", size: 50_000_001, as: "huge" } },
      { say: { value: "$huge.status" } },
    ]);
    const message = "the file huge.bin is larger than 50000000 bytes";
    expect(await finish).toMatchObject({
      status: "failed",
      error: { source: "external", message },
    });
  });

  it("because the files are too large together is told too", async () => {
    const size = 40_000_000;
    const { finish } = run([
      { put: { name: "1.bin", size, as: "a" } },
      { put: { name: "2.bin", size, as: "b" } },
      { put: { name: "3.bin", size, as: "c" } },
      { say: { value: "$a" } },
    ]);
    const message = "the container's files are larger than 100000000 bytes in total";
    expect(await finish).toMatchObject({
      status: "failed",
      error: { source: "external", message },
    });
  });

  it("fails all that were there, or the one that it names", async () => {
    const limits = { max_concurrency: 2 };
    const broken = (mine: boolean): Steps => [
      { meet: { at: "begin" } },
      { put: { name: "cut.bin", size: 1_000, cutAt: 500, as: "cut", mine } },
      { meet: { at: "end" } },
      { say: { value: "done" } },
    ];
    const whole: Steps = [
      { meet: { at: "begin" } },
      { meet: { at: "end" } },
      { say: { value: "done" } },
    ];
    const named = [run(broken(true), { limits }), run(whole, { limits })];
    expect(await named[0]?.finish).toMatchObject({ status: "failed" });
    expect(await named[1]?.finish).toMatchObject({ status: "succeeded" });
    const unnamed = [run(broken(false), { limits }), run(whole, { limits })];
    expect(await unnamed[0]?.finish).toMatchObject({ status: "failed" });
    expect(await unnamed[1]?.finish).toMatchObject({ status: "failed" });
  });

  it.each([
    [{}, "the run ended before its file late.bin was uploaded"],
    [{ cut: 300 }, "the upload of the file late.bin failed: the connection was closed"],
  ])("fails a run that ended before it: %j", async (how, message) => {
    const begin = { begin: { name: "late.bin", ...how } };
    const { reporter, finish } = run([begin, { say: { value: "done" } }]);
    const error = { source: "external", message };
    expect(await finish).toMatchObject({ status: "failed", output: "value", error });
    expect(reporter.of("output")).toEqual(["done"]);
  });

  it("leaves the error of a run that fails by itself as it is", async () => {
    const { finish } = run([
      { put: { name: "cut.bin", size: 1_000, cutAt: 500, as: "cut" } },
      { fail: { message: "out of paint" } },
    ]);
    expect(await finish).toMatchObject({ status: "failed", error: { message: "out of paint" } });
  });
});

describe("a data URI", () => {
  it("becomes a file wherever it stands, by its type", async () => {
    const png = dataUri("image/png", "pixels");
    const value = { image: png, more: [[dataUri("text/plain;charset=utf-8", "text"), png]] };
    const { reporter, finish } = run([{ say: { value } }]);
    expect(await finish).toMatchObject({ status: "succeeded" });
    const [image] = box.plane.files.named("output.png");
    const [text] = box.plane.files.named("output.txt");
    expect(reporter.of("output")).toEqual([{ image, more: [[text, image]] }]);
    expect([textOf(image), textOf(text)]).toEqual(["pixels", "text"]);
    expect(stored(text)?.mime_type).toBe("text/plain;charset=utf-8");
    expect(box.plane.files.stored.size).toBe(2);
  });

  it("of 20 MB is no large output", async () => {
    // Built here, sent by the container: the input has no limit in this test.
    const picture = Buffer.alloc(20_000_000, "picture");
    const value = `data:image/png;base64,${picture.toString("base64")}`;
    const { reporter, finish } = run([{ say: { value } }]);
    expect(await finish).toMatchObject({ status: "succeeded" });
    expect(stored(reporter.of("output")[0])?.bytes.equals(picture)).toBe(true);
  });

  it("of a list are in its order, and more than there is room for in a report", async () => {
    const type = "image/png";
    const sizes = [30_000_000, 1_000_000, 20_000_000, 100_000, 2_000_000];
    const files = sizes.map((size, n) => ({ inline: { text: `file ${n}`, size, type, as: n } }));
    const { reporter, finish } = run([...files, { say: { value: sizes.map((_, n) => `$${n}`) } }]);
    expect(await finish).toMatchObject({ status: "succeeded" });
    const [addresses] = reporter.of("output");
    expect(addresses).toHaveLength(sizes.length);
    for (const [n, address] of [addresses].flat().entries()) {
      const file = Buffer.alloc(sizes[n] ?? 0, `file ${n}`);
      expect(stored(address)).toMatchObject({ name: "output.png", mime_type: type });
      expect(stored(address)?.bytes.equals(file)).toBe(true);
    }
  }, 60_000);

  it("that is too large fails the run, which says so", async () => {
    const inline = { text: "x", size: 51_000_000, type: "video/mp4", as: "v" };
    const { finish } = run([{ inline }, { say: { value: "$v" } }]);
    const message = "the file output.mp4 is larger than 50000000 bytes";
    const error = { source: "external", message };
    expect(await finish).toMatchObject({ status: "failed", output: "none", error });
  });

  it("that comes again with each report is on the disk once", async () => {
    // Nine times over it would be more than the container may have there.
    const inline = { text: "x", size: 12_000_000, type: "video/mp4", as: "v" };
    const again = Array.from({ length: 3 }, () => ({ say: { value: "$v" } }));
    const { reporter, finish } = run([{ inline }, ...again], { variables: { ITERATOR: "1" } });
    expect(await finish).toMatchObject({ status: "succeeded", output: "items" });
    expect(new Set(reporter.of("output")).size).toBe(1);
    expect(reporter.of("output")).toHaveLength(3);
  }, 60_000);

  it.each([
    "data:image/png;base64,abc",
    "data:image/png;base64,ab-_",
    "data:image/png;base64,YQ== ",
    "data:image/png;base64,YR==",
    "data:;base64,YQ==",
    "data:image/png,a",
    "data:",
    "see data:image/png;base64,YQ==",
  ])("that is none stays what it is: %s", async (text) => {
    const { reporter, finish } = run([{ say: { value: [text] } }]);
    expect(await finish).toMatchObject({ status: "succeeded" });
    expect(reporter.of("output")).toEqual([[text]]);
  });
});

describe("a file of the container", () => {
  it("is read where the output has files", async () => {
    const { reporter, finish } = run(
      [{ write: { name: "a b.csv", text: "1,2", as: "file" } }, { say: { value: ["$file"] } }],
      declared,
    );
    expect(await finish).toMatchObject({ status: "succeeded" });
    const [address] = box.plane.files.named("a b.csv");
    expect(reporter.of("output")).toEqual([[address]]);
    expect(stored(address)).toMatchObject({ mime_type: "text/csv", bytes: Buffer.from("1,2") });
  });

  it.each([
    ["file:///etc/hostname", /not a file below \$TMPDIR/],
    ["file:///etc/../etc/hostname", /not a file below \$TMPDIR/],
    ["file:///nowhere", /not a file below \$TMPDIR/],
    ["file:///a%2Fb", /invalid file path/],
    ["file:///a%00b", /not a file below \$TMPDIR/],
  ])("is not what lies elsewhere: %s", async (value, why) => {
    const { finish } = run([{ say: { value } }], declared);
    const message = expect.stringMatching(why);
    expect(await finish).toMatchObject({
      status: "failed",
      error: { source: "external", message },
    });
    expect(box.plane.files.stored.size).toBe(0);
  });

  it.each<[Steps[number], string]>([
    [{ write: { name: "a", text: "theirs", as: "file", age: 60 } }, "not written by this run"],
    [{ link: { name: "a", target: "/etc/hostname", as: "file" } }, "not a file below $TMPDIR"],
    [{ link: { name: "a", target: ".", as: "file" } }, "not a file below $TMPDIR"],
  ])("is not what another run has left, or a link: %j", async (step, why) => {
    const { finish } = run([step, { say: { value: "$file" } }], declared);
    const error = { source: "external", message: expect.stringContaining(why) };
    expect(await finish).toMatchObject({ status: "failed", error });
    expect(box.plane.files.stored.size).toBe(0);
  });

  it("is just text where the output has none: a caller may have made the model say it", async () => {
    const { reporter, finish } = run([
      { write: { name: "a.txt", text: "secret", as: "file" } },
      { say: { value: "$file" } },
    ]);
    expect(await finish).toMatchObject({ status: "succeeded" });
    expect(reporter.of("output")).toEqual([expect.stringMatching(/^file:\/\/\/.*a\.txt$/)]);
    expect(box.plane.files.stored.size).toBe(0);
  });
});

it.each<[string, Steps]>([
  [
    "uploaded",
    [{ put: { name: "empty.txt", type: "text/plain", as: "empty" } }, { say: { value: "$empty" } }],
  ],
  [
    "in the container",
    [{ write: { name: "empty.txt", as: "empty" } }, { say: { value: "$empty" } }],
  ],
  ["as a data URI", [{ say: { value: "data:text/plain;base64," } }]],
])("an empty file %s is stored as one", async (_, steps) => {
  const lengths: unknown[] = [];
  box.plane.files.trouble = ({ headers }) => void lengths.push(headers["content-length"]);
  const { reporter, finish } = run(steps, declared);
  expect(await finish).toMatchObject({ status: "succeeded" });
  const [address] = reporter.of("output");
  expect(stored(address)).toMatchObject({ mime_type: "text/plain", bytes: Buffer.alloc(0) });
  expect(lengths).toEqual(["0"]);
});

describe("the order of outputs", () => {
  const put = (name: string): Steps[number] => ({ put: { name, text: name, as: name } });
  const say = (value: Json): Steps[number] => ({ say: { value } });

  it("is kept while files are on their way, and what came before is not held up", async () => {
    const release = hold((url) => url.includes("slow"));
    const { reporter, finish } = run(
      [put("slow"), put("fast"), say("first"), say("$slow"), say("second"), say("$fast"), say(3)],
      items,
    );
    await vi.waitFor(() => expect(box.plane.files.named("fast")).toHaveLength(1), BUSY_MS);
    expect(reporter.of("output")).toEqual(["first"]);
    release();
    expect(await finish).toMatchObject({ status: "succeeded", output: "items" });
    const address = (name: string) => box.plane.files.named(name)[0];
    expect(reporter.of("output")).toEqual(["first", address("slow"), "second", address("fast"), 3]);
  });

  it("has no holes: nothing follows a file that could not be stored", async () => {
    box.plane.files.trouble = ({ url }) => (url?.includes("bad") ? 403 : undefined);
    const { reporter, finish } = run(
      [put("good"), put("bad"), say("$good"), say("$bad"), say("after"), say("$good")],
      items,
    );
    const message = "the file bad (3 bytes) could not be stored: HTTP 403";
    expect(await finish).toMatchObject({
      status: "failed",
      output: "items",
      error: { source: "internal", message },
      execution_seconds: expect.any(Number),
    });
    expect(reporter.of("output")).toEqual([box.plane.files.named("good")[0]]);
  });

  it("storage trouble is not the container's fault: it is used again", async () => {
    box.plane.files.trouble = () => 403;
    for (let i = 0; i < 3; i++) {
      const { finish } = run([put("a"), say("$a")]);
      expect(await finish).toMatchObject({ status: "failed", output: "none" });
    }
    expect(box.executor.warm()).toHaveLength(1);
  });
});

describe("a store that has trouble", () => {
  beforeEach(() => {
    // A delay is a random part of its bound: none.
    vi.spyOn(Math, "random").mockReturnValue(-0.999);
  });
  afterEach(() => void vi.restoreAllMocks());

  it("is tried again, whole files and parts alike", async () => {
    const seen = new Map<string, number>();
    box.plane.files.trouble = ({ method, url }) => {
      const call = `${method} ${url}`;
      const tries = (seen.get(call) ?? 0) + 1;
      seen.set(call, tries);
      return ([503, "cut", 429] as const)[tries - 1];
    };
    const { reporter, finish } = run([
      { put: { name: "big.bin", size: MAX_WHOLE_FILE + 1, text: "ab", as: "big" } },
      { put: { name: "small.bin", text: "s", as: "small" } },
      { say: { value: ["$big", "$small"] } },
    ]);
    expect(await finish).toMatchObject({ status: "succeeded" });
    const [big] = box.plane.files.named("big.bin");
    const [small] = box.plane.files.named("small.bin");
    expect(reporter.of("output")).toEqual([[big, small]]);
    expect(stored(big)?.bytes.equals(Buffer.alloc(MAX_WHOLE_FILE + 1, "ab"))).toBe(true);
  });

  it("for good fails the run", async () => {
    box.plane.files.trouble = () => 503;
    const { reporter, finish } = run([
      { put: { name: "a.bin", text: "a", as: "a" } },
      { say: { value: "$a" } },
    ]);
    const message = "the file a.bin (1 bytes) could not be stored: HTTP 503";
    const error = { source: "internal", message };
    expect(await finish).toMatchObject({ status: "failed", output: "none", error });
    expect(reporter.of("output")).toEqual([]);
  });
});

it("a cancel while files are stored ends it, with what came before", async () => {
  const release = hold((url) => url.includes("slow"));
  const stop = signals();
  const { reporter, finish } = run(
    [
      { put: { name: "slow", text: "x", as: "slow" } },
      { say: { value: "first" } },
      { say: { value: "$slow" } },
    ],
    items,
    stop,
  );
  await vi.waitFor(() =>
    expect(box.plane.files.requests).toContainEqual(expect.stringContaining("/files")),
  );
  stop.abortCancel();
  expect(await finish).toMatchObject({ status: "canceled", output: "items" });
  expect(reporter.of("output")).toEqual(["first"]);
  release();
});

describe("a large value", () => {
  const large = "x".repeat(MAX_INLINE_OUTPUT);

  it("is stored and told by its name, in its place", async () => {
    const release = hold((url) => url.endsWith("/values"));
    const { reporter, finish } = run(
      [{ say: { value: "a" } }, { say: { value: { large } } }, { say: { value: "b" } }],
      items,
    );
    await vi.waitFor(
      () => expect(box.plane.files.requests).toEqual(["POST /v1/runner/values"]),
      BUSY_MS,
    );
    expect(reporter.of("output")).toEqual(["a"]);
    release();
    expect(await finish).toMatchObject({ status: "succeeded", output: "items" });
    const [[name, json] = ["", ""]] = box.plane.files.values;
    expect(JSON.parse(json)).toEqual({ large });
    const said = reporter.events.filter(({ event }) => event === "output" || event === "stored");
    expect(said.map(({ data }) => data)).toEqual(["a", { name, size: json.length }, "b"]);
  });

  it("is measured with the addresses in it, not with the files", async () => {
    const value = { list: [dataUri("text/plain", large)], fits: "x".repeat(200_000) };
    const { reporter, finish } = run([{ say: { value } }]);
    expect(await finish).toMatchObject({ status: "succeeded" });
    expect(reporter.of("stored")).toEqual([]);
    expect(box.plane.files.stored.size).toBe(1);
  });

  it("just within the limit travels as it is", async () => {
    const value = large.slice(2);
    const { reporter, finish } = run([{ say: { value } }]);
    expect(await finish).toMatchObject({ status: "succeeded" });
    expect(reporter.of("output")).toEqual([value]);
  });

  it("for which there is no room is not stored", async () => {
    const asked: number[] = [];
    const reserve = (bytes: number) => asked.push(bytes) === 0;
    const job = box.job("files", { steps: [{ say: { value: large } }] });
    const finish = await box.executor.run(job, { ...record(), reserve }, signals());
    expect(finish).toMatchObject({ status: "failed", output: "none" });
    expect(asked).toEqual([large.length + 2]);
    expect(box.plane.files.requests).toEqual([]);
  });

  it("lets no more wait behind it than there is room for", async () => {
    const release = hold((url) => url.endsWith("/values"));
    let room = 2 * large.length;
    const reserve = (bytes: number) => {
      room -= bytes;
      return room >= 0;
    };
    const values = [large, ..."abc", large.slice(0, -10), "late"];
    const steps = values.map((value) => ({ say: { value } }));
    const job = box.job("files", { steps }, items);
    const reporter = { ...record(), reserve };
    const finish = box.executor.run(job, reporter, signals());
    await vi.waitFor(() => expect(room).toBeLessThan(0));
    expect(box.plane.files.requests).toEqual(["POST /v1/runner/values"]);
    release();
    expect(await finish).toMatchObject({ status: "failed", output: "items" });
    expect(reporter.of("stored")).toHaveLength(1);
    expect(reporter.of("output")).toEqual(["a", "b", "c"]);
  });

  it("is not nested without end", async () => {
    const deep = `${"[".repeat(200)}${"]".repeat(200)}`;
    const { finish } = run([{ say: { value: JSON.parse(deep) } }]);
    const message = "the container's response has more than 128 levels of nesting";
    expect(await finish).toMatchObject({
      status: "failed",
      error: { source: "external", message },
    });
  });
});
