/** Files in the output itself: data URIs, and files that the container keeps. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { sized } from "../../support/sized.ts";
import { wavOf } from "../../support/wav.ts";
import {
  dataUri,
  MAX_FILE,
  type OutputBox,
  openOutputBox,
  type Steps,
} from "../support/output-box.ts";

const declared = { variables: { DECLARES: "1" } };

let box: OutputBox;
beforeAll(async () => {
  box = await openOutputBox();
});
afterEach(() => box.settle());
afterAll(() => box.close());

describe("a data URI", () => {
  it("a data URI becomes a file wherever it is, by its type", async () => {
    const png = dataUri("image/png", "pixels");
    const value = { image: png, more: [[dataUri("text/plain;charset=utf-8", "text"), png]] };
    const { reporter, finish } = box.run([{ say: { value } }]);
    expect(await finish).toMatchObject({ status: "succeeded" });
    const [image] = box.plane.files.named("output.png");
    const [text] = box.plane.files.named("output.txt");
    expect(reporter.of("output")).toEqual([{ image, more: [[text, image]] }]);
    expect([box.textOf(image), box.textOf(text)]).toEqual(["pixels", "text"]);
    expect(box.stored(text)?.mime_type).toBe("text/plain;charset=utf-8");
    expect(box.plane.files.stored.size).toBe(2);
  });

  it("images and the seconds of WAV files in the output count, each file once, and not what the model says", async () => {
    const [one, other] = [dataUri("image/png", "one"), dataUri("image/webp", "other")];
    const sound = `data:audio/wav;base64,${wavOf(2).toString("base64")}`;
    const { reporter, finish } = box.run([
      { measure: { metrics: { images: 90, audio_seconds: 90 } } },
      { say: { value: [one, { one, other }, sound, dataUri("text/plain", "text")] } },
    ]);
    expect(await finish).toMatchObject({ status: "succeeded" });
    expect(Object.assign({}, ...reporter.of("metrics"))).toMatchObject({
      images: 2,
      audio_seconds: 2,
    });
  });

  it("a preview of an image counts for nothing, and without files the model's own numbers stay", async () => {
    const preview = { type: "image_generation.partial_image", url: dataUri("image/png", "half") };
    const { reporter, finish } = box.run([
      { measure: { metrics: { images: 3 } } },
      { say: { value: preview } },
    ]);
    expect(await finish).toMatchObject({ status: "succeeded" });
    expect(Object.assign({}, ...reporter.of("metrics"))).toMatchObject({ images: 3 });
  });

  it("a data URI of text gets the charset UTF-8 if its type has none and its bytes are UTF-8", async () => {
    const latin1 = `data:text/plain;base64,${Buffer.from("caf\u00e9", "latin1").toString("base64")}`;
    const named = dataUri("text/plain;charset=us-ascii", "plain");
    const value = [
      dataUri("text/csv", "caf\u00e9"),
      latin1,
      named,
      dataUri("application/json", "1"),
    ];
    const { reporter, finish } = box.run([{ say: { value } }]);
    expect(await finish).toMatchObject({ status: "succeeded" });
    const addresses = reporter.of("output").flat();
    expect(addresses.map((address) => box.stored(address)?.mime_type)).toEqual([
      "text/csv; charset=utf-8",
      "text/plain",
      "text/plain;charset=us-ascii",
      "application/json",
    ]);
  });

  it("a data URI of 2 MB does not make the output a large value", async () => {
    // Built here, sent by the container: the input has no limit in this test.
    const picture = Buffer.alloc(2_000_000, "picture");
    const value = `data:image/png;base64,${picture.toString("base64")}`;
    const { reporter, finish } = box.run([{ say: { value } }]);
    expect(await finish).toMatchObject({ status: "succeeded" });
    expect(box.stored(reporter.of("output")[0])?.bytes.equals(picture)).toBe(true);
  });

  it("data URIs of a list stay in order, whatever their sizes", async () => {
    const type = "image/png";
    // At night they have more bytes than a report has room for.
    const scale = sized(0.05, 1);
    const sizes = [30_000_000, 1_000_000, 20_000_000, 100_000, 2_000_000].map((n) => n * scale);
    const files = sizes.map((size, n) => ({ inline: { text: `file ${n}`, size, type, as: n } }));
    const { reporter, finish } = box.run([
      ...files,
      { say: { value: sizes.map((_, n) => `$${n}`) } },
    ]);
    expect(await finish).toMatchObject({ status: "succeeded" });
    const [addresses] = reporter.of("output");
    expect(addresses).toHaveLength(sizes.length);
    for (const [n, address] of [addresses].flat().entries()) {
      const file = Buffer.alloc(sizes[n] ?? 0, `file ${n}`);
      expect(box.stored(address)).toMatchObject({ name: "output.png", mime_type: type });
      expect(box.stored(address)?.bytes.equals(file)).toBe(true);
    }
  });

  it("a data URI that is too large fails the run with a message", async () => {
    const inline = { text: "x", size: MAX_FILE + 1, type: "video/mp4", as: "v" };
    const { finish } = box.run([{ inline }, { say: { value: "$v" } }]);
    const message = `The file output.mp4 is larger than ${MAX_FILE} bytes.`;
    const error = { source: "external", message };
    expect(await finish).toMatchObject({ status: "failed", output: "none", error });
  });

  it("a data URI that comes again with each report is on the disk once", async () => {
    // The file would exceed the container's disk limit if it were stored nine times.
    const inline = { text: "x", size: Math.ceil(MAX_FILE / 4.4), type: "video/mp4", as: "v" };
    const again = Array.from({ length: 3 }, () => ({ say: { value: "$v" } }));
    const { reporter, finish } = box.run([{ inline }, ...again], { variables: { ITERATOR: "1" } });
    expect(await finish).toMatchObject({ status: "succeeded", output: "items" });
    expect(new Set(reporter.of("output")).size).toBe(1);
    expect(reporter.of("output")).toHaveLength(3);
  });

  it.each([
    "data:image/png;base64,abc",
    "data:image/png;base64,ab-_",
    "data:image/png;base64,YQ== ",
    "data:image/png;base64,YR==",
    "data:;base64,YQ==",
    "data:image/png,a",
    "data:",
    "see data:image/png;base64,YQ==",
  ])("a text that is no data URI stays unchanged: %s", async (text) => {
    const { reporter, finish } = box.run([{ say: { value: [text] } }]);
    expect(await finish).toMatchObject({ status: "succeeded" });
    expect(reporter.of("output")).toEqual([[text]]);
  });
});

describe("a file of the container", () => {
  it("a file of the container is read where the output has files", async () => {
    const { reporter, finish } = box.run(
      [{ write: { name: "a b.csv", text: "1,2", as: "file" } }, { say: { value: ["$file"] } }],
      declared,
    );
    expect(await finish).toMatchObject({ status: "succeeded" });
    const [address] = box.plane.files.named("a b.csv");
    expect(reporter.of("output")).toEqual([[address]]);
    expect(box.stored(address)).toMatchObject({
      mime_type: "text/csv; charset=utf-8",
      bytes: Buffer.from("1,2"),
    });
  });

  it.each([
    ["file:///etc/hostname", /not a file below \$TMPDIR/],
    ["file:///etc/../etc/hostname", /not a file below \$TMPDIR/],
    ["file:///nowhere", /not a file below \$TMPDIR/],
    ["file:///a%2Fb", /invalid file path/],
    ["file:///a%00b", /not a file below \$TMPDIR/],
  ])("a file elsewhere is refused: %s", async (value, why) => {
    const { finish } = box.run([{ say: { value } }], declared);
    const message = expect.stringMatching(why);
    expect(await finish).toMatchObject({
      status: "failed",
      error: { source: "external", message },
    });
    expect(box.plane.files.stored.size).toBe(0);
  });

  it.each<[Steps[number], string]>([
    [{ write: { name: "a", text: "theirs", as: "file", age: 60 } }, "not written by this run"],
    [{ link: { name: "b", target: "/etc/hostname", as: "file" } }, "not a file below $TMPDIR"],
    [{ link: { name: "c", target: ".", as: "file" } }, "not a file below $TMPDIR"],
  ])("a file of another run, or a link, is refused: %j", async (step, why) => {
    const { finish } = box.run([step, { say: { value: "$file" } }], declared);
    const error = { source: "external", message: expect.stringContaining(why) };
    expect(await finish).toMatchObject({ status: "failed", error });
    expect(box.plane.files.stored.size).toBe(0);
  });

  it("a file address is just text where the output has no files, as a caller may make the model say it", async () => {
    const { reporter, finish } = box.run([
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
  const { reporter, finish } = box.run(steps, declared);
  expect(await finish).toMatchObject({ status: "succeeded" });
  const [address] = reporter.of("output");
  expect(box.stored(address)).toMatchObject({
    mime_type: "text/plain; charset=utf-8",
    bytes: Buffer.alloc(0),
  });
  expect(lengths).toEqual(["0"]);
});
