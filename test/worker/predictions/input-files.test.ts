/** Files that an input names: found when a prediction is created, and read by the runner of its job. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { FileAddress } from "../../../src/protocol/file.ts";
import { sized } from "../../support/sized.ts";
import { Client, ORIGIN } from "../support/client.ts";
import {
  beginUpload,
  fileUrl,
  nobody,
  postFile,
  postUpload,
  postValue,
  readFile,
  readInput,
  rowOfUpload,
  storeFile,
  uploaded,
} from "../support/files.ts";
import type { FakeRunner } from "../support/runner.ts";
import { advance, passes, startClock, stopClock } from "../support/time.ts";
import { newRunnerToken, newWorld, type World } from "../support/world.ts";

let world: World;
let client: Client;
let model: string;
let runner: FakeRunner;

// Each test has its own world, because jobs that one test leaves with its runner are handed out again after 5
// s.
beforeEach(async () => {
  stopClock();
  world = await newWorld({ input: SCHEMA, visibility: "public" });
  ({ client, model } = world);
  runner = await world.runner(9);
});
afterEach(startClock);

const SCHEMA = {
  type: "object",
  properties: {
    image: { type: "string", format: "uri" },
    images: { type: "array", items: { type: "string", format: "uri" } },
    mask: { anyOf: [{ type: "string", format: "uri" }, { type: "null" }] },
    text: { type: "string" },
  },
};

/** The job of a new prediction with this input. */
async function jobOf(input: object, caller = client) {
  const { body } = await caller.create({ model, input });
  const job = await runner.take();
  if (job.prediction_id !== body.id) throw new Error("another prediction was handed out");
  return job;
}

const refused = (input: object, caller: Client = client) =>
  caller.refused("/v1/predictions", { model, input });

const contentOf = async (response: Response) => [response.status, await response.text()];

describe("an upload in an input", () => {
  const ADDRESSES: [string, (done: { id: string; file_url: string | null }) => string][] = [
    ["its path", ({ id }) => `/v1/uploads/${id}`],
    ["its address", ({ id }) => `${ORIGIN}/v1/uploads/${id}`],
    ["its signed file", ({ file_url }) => file_url ?? ""],
    ["its file as the owner", ({ file_url }) => new URL(file_url ?? "").pathname],
  ];
  test.each(ADDRESSES.slice(0, sized(2, ADDRESSES.length)))(
    "an upload by %s is a file of the job, and stays as it was in the input",
    async (_, by) => {
      const done = await uploaded(client, "the bytes", { mime_type: "image/png", name: "ü b.png" });
      const { key } = await rowOfUpload(done.id);
      const input = { image: by(done) };
      const job = await jobOf(input);
      const stored = { key, name: "ü b.png", mime_type: "image/png", size: 9 };
      expect(job.files).toEqual([{ at: ["image"], stored }]);
      expect(job.input).toEqual(input);
      const response = await readFile(runner, job, key);
      expect(response.headers.get("content-type")).toBe("image/png");
      expect(new TextDecoder().decode(await response.arrayBuffer())).toBe("the bytes");
    },
  );

  test("an upload is found at any place of an input, whatever the schema says", async () => {
    const one = await uploaded(client, "1");
    const two = await uploaded(client, "2");
    const [a, b] = [`/v1/uploads/${one.id}`, `${ORIGIN}/v1/uploads/${two.id}`];
    const job = await jobOf({ text: a, other: [{ deep: [b, "x"] }], images: [b, a] });
    const found = new Map(job.files.map(({ at, stored }) => [at.join("."), stored?.key]));
    const [first, second] = [(await rowOfUpload(one.id)).key, (await rowOfUpload(two.id)).key];
    expect(found).toEqual(
      new Map([
        ["text", first],
        ["other.0.deep.0", second],
        ["images.0", second],
        ["images.1", first],
      ]),
    );
  });

  test("an upload's path within a text is no file", async () => {
    const done = await uploaded(client);
    const job = await jobOf({
      text: `look at /v1/uploads/${done.id}`,
      "/v1/uploads/x": "/v1/uploads",
    });
    expect(job.files).toEqual([]);
  });

  test("an upload that is not completed is refused with the reason", async () => {
    const { id } = await beginUpload(client, 3);
    const { status, body } = await refused({ images: ["x:y", `/v1/uploads/${id}`] });
    expect(status).toBe(422);
    expect(body.detail).toMatchObject([
      { loc: ["body", "input", "images", "1"], msg: expect.stringContaining("not complete") },
    ]);
  });

  test("an upload that is deleted is refused", async () => {
    const done = await uploaded(client);
    await client.ok("DELETE", `/v1/uploads/${done.id}`);
    expect((await refused({ image: `/v1/uploads/${done.id}` })).status).toBe(422);
    expect((await refused({ image: new URL(fileUrl(done)).pathname })).status).toBe(422);
  });

  test("an upload of another account is refused as one that does not exist", async () => {
    const stranger = await world.stranger();
    const done = await uploaded(client);
    const pending = await beginUpload(client, 3);
    const none = crypto.randomUUID();
    const answers = await Promise.all(
      [done.id, pending.id, none].flatMap((id) =>
        [`/v1/uploads/${id}`, `${ORIGIN}/v1/uploads/${id}`, `/v1/files/${id}/file.txt`].map(
          async (image) => {
            const { status, body } = await refused({ image }, stranger);
            return JSON.stringify([status, body.detail]).replaceAll(id, "X");
          },
        ),
      ),
    );
    const [upload, absolute, file] = answers;
    expect(upload).toContain("422");
    expect(answers).toEqual([1, 2, 3].flatMap(() => [upload, absolute, file]));
  });
});

describe("a file that an earlier prediction made", () => {
  test("a file of a prediction is an input of the next one, by its address and by its path", async () => {
    const job = await jobOf({});
    const channel = await runner.connect(job);
    const url = await storeFile(runner, job, "made", "out.png");
    await channel.succeed(url);
    for (const image of [url, new URL(url).pathname]) {
      const next = await jobOf({ image });
      const [file] = next.files;
      expect(file).toMatchObject({
        at: ["image"],
        stored: { name: "out.png", mime_type: "image/png", size: 4 },
      });
      const response = await readFile(runner, next, file?.stored?.key ?? "");
      expect(new TextDecoder().decode(await response.arrayBuffer())).toBe("made");
    }
  });

  test("a file of another account is an input only by its signed address, until that expires", async () => {
    const stranger = await world.stranger();
    const done = await uploaded(client, "lent");
    const path = new URL(fileUrl(done)).pathname;
    const lent = await client.ok<FileAddress>("POST", `${path}/addresses`, { expires_in: 60 });
    const job = await jobOf({ image: lent.url }, stranger);
    expect(await contentOf(await readFile(runner, job, path.slice("/v1/files/".length)))).toEqual([
      200,
      "lent",
    ]);
    expect((await refused({ image: path }, stranger)).status).toBe(422);
    const altered = lent.url.replace(/signature=./, (text) =>
      text.endsWith("A") ? "signature=B" : "signature=A",
    );
    expect((await refused({ image: altered }, stranger)).status).toBe(422);
    advance(61);
    expect((await refused({ image: lent.url }, stranger)).status).toBe(422);
  });
});

describe("an address in the web", () => {
  test("a web address is a file where the schema has a uri, and nowhere else", async () => {
    const url = "https://example.com/a.png";
    const job = await jobOf({
      image: url,
      images: [url, "http://example.com/b"],
      mask: url,
      text: url,
    });
    expect(new Set(job.files.map(({ at }) => at.join(".")))).toEqual(
      new Set(["image", "images.0", "images.1", "mask"]),
    );
    expect(job.files.every(({ stored }) => stored === undefined)).toBe(true);
  });

  test("a data URI, another scheme and null are no files", async () => {
    const job = await jobOf({
      image: "data:image/png;base64,AAAA",
      images: ["file:///etc/passwd"],
      mask: null,
    });
    expect(job.files).toEqual([]);
  });

  test("an address of another host with our path is a web address", async () => {
    const url = `https://elsewhere.example/v1/uploads/${crypto.randomUUID()}`;
    const job = await jobOf({ image: url, text: url });
    expect(job.files).toEqual([{ at: ["image"] }]);
  });
});

describe("inputs with many files", () => {
  const path = (n: number) => `https://example.com/${n}`;
  const many = (count: number) => Array.from({ length: count }, (_, n) => path(n));

  test("an input names at most 90 files", async () => {
    expect((await jobOf({ images: many(90) })).files).toHaveLength(90);
    const { status, body } = await refused({ images: many(91) });
    expect(status).toBe(422);
    expect(body.detail).toMatchObject([
      { loc: ["body", "input"], msg: expect.stringContaining("90 files") },
    ]);
    const own = await uploaded(client);
    const same = Array<string>(91).fill(`/v1/uploads/${own.id}`);
    expect((await refused({ text: same })).status).toBe(422);
    expect((await jobOf({ text: same.slice(1) })).files).toHaveLength(90);
  });

  const LONG_PATHS: [string, (file: string) => string][] = [
    [
      "a path of a hundred long names",
      (file) => `${`{"${"n".repeat(50)}":`.repeat(100)}"${file}"${"}".repeat(100)}`,
    ],
    ["a name of a megabyte", (file) => `{"${"n".repeat(1_000_000)}":"${file}"}`],
  ];
  test.each(LONG_PATHS.slice(0, sized(1, LONG_PATHS.length)))(
    "an input is refused with %s to a file",
    async (_, input) => {
      const own = await uploaded(client);
      const create = async (text: string) => {
        const response = await client.post(
          "/v1/predictions",
          `{"model":"${model}","input":${text}}`,
        );
        await response.text();
        return response.status;
      };
      expect(await create(input(`/v1/uploads/${own.id}`))).toBe(422);
      expect(await create(input("no file"))).toBe(202);
      expect((await runner.take()).files).toEqual([]);
    },
  );

  test("a long list of numbers beside an address is accepted", async () => {
    const schema = {
      properties: { image: { type: "string", format: "uri" }, points: { items: {} } },
    };
    const { client, model } = await newWorld({ input: schema });
    const points = Array.from({ length: 499_900 }, (_, n) => n % 10);
    const { status } = await client.create({
      model,
      input: { image: "https://a.example", points },
    });
    expect(status).toBe(202);
  });

  test("an input that takes long to search is refused", async () => {
    const path = `/v1/uploads/${crypto.randomUUID()}`;
    let input: object = Array(100_000).fill(path);
    for (let depth = 0; depth < 100; depth++) input = [path, input];
    expect((await refused({ text: input })).status).toBe(422);
  });
});

describe("a runner", () => {
  async function withFile(of: World = world) {
    const done = await uploaded(of.client, "bytes");
    const { key } = await rowOfUpload(done.id);
    const id = await of.waiting({ image: `/v1/uploads/${done.id}` });
    return { id, key, done };
  }

  test("a runner reads the files that the input of its job names, and no others", async () => {
    const { key } = await withFile();
    const job = await runner.take();
    const other = await uploaded(client, "secret");
    const made = await storeFile(runner, job, "made");
    const keys = [
      (await rowOfUpload(other.id)).key,
      new URL(made).pathname.slice("/v1/files/".length),
      `${job.prediction_id}/values`,
      `${key}x`,
    ];
    for (const one of keys) expect((await readFile(runner, job, one)).status).toBe(404);
    expect(await contentOf(await readFile(runner, job, key))).toEqual([200, "bytes"]);
  });

  test("a runner needs the lease of that job, and its own token", async () => {
    const { key } = await withFile();
    const job = await runner.take();
    const without = await jobOf({});
    const secret = job.lease.slice(0, -1) + (job.lease.endsWith("a") ? "b" : "a");
    for (const lease of [without.lease, secret, "", "nonsense"]) {
      expect((await readFile(runner, { ...job, lease }, key)).status).toBe(404);
    }
    const headers = { "x-auspex-lease": job.lease };
    const other = new Client(await newRunnerToken(runner.hardware));
    expect((await other.fetch(`/v1/runner/files/${key}`, { headers })).status).toBe(404);
    for (const one of [nobody, client]) {
      expect((await one.fetch(`/v1/runner/files/${key}`, { headers })).status).toBe(401);
    }
  });

  test("a runner reads ranges, to go on where it broke off", async () => {
    const { key } = await withFile();
    const { lease } = await runner.take();
    const headers = { "x-auspex-lease": lease, range: "bytes=3-" };
    const response = await runner.client.fetch(`/v1/runner/files/${key}`, { headers });
    expect(await contentOf(response)).toEqual([206, "es"]);
  });

  const calls = (key: string, job: Parameters<typeof readInput>[1]) => [
    () => readFile(runner, job, key),
    () => readInput(runner, job),
    () => postValue(runner, job, "1"),
    () => postFile(runner, job, "x"),
    () => postUpload(runner, job, "", { size: 1, mime_type: "a/b" }),
  ];

  async function expectAll(status: number, all: ReturnType<typeof calls>) {
    for (const call of all) {
      const response = await call();
      await response.arrayBuffer();
      expect(response.status).toBe(status);
    }
  }

  test("a runner reads nothing after its attempt was lost", async () => {
    const { id, key } = await withFile();
    const { job } = await runner.work();
    await expectAll(200, calls(key, job));
    await passes(31, id);
    await expectAll(404, calls(key, job));
    const again = await runner.take();
    expect(again.files).toEqual(job.files);
    await expectAll(404, calls(key, job));
    await expectAll(200, calls(key, again));
  });

  test.each<[string, (id: string, finish: () => Promise<void>) => Promise<unknown>]>([
    ["it has finished", (_, finish) => finish()],
    [
      "the prediction was removed",
      async (id, finish) => {
        await finish();
        await client.ok("DELETE", `/v1/predictions/${id}`);
      },
    ],
  ])("a runner reads nothing after %s", async (_, end) => {
    const { id, key } = await withFile();
    const { job, channel } = await runner.work();
    await end(id, () => channel.succeed("a"));
    await expectAll(404, calls(key, job));
  });

  test("a runner reads nothing after the prediction was canceled before it connected", async () => {
    const { id, key } = await withFile();
    const job = await runner.take();
    await client.cancel(id);
    await expectAll(404, calls(key, job));
  });

  test("a runner gets a 404 for a file that was deleted meanwhile", async () => {
    const { key, done } = await withFile();
    const job = await runner.take();
    await client.ok("DELETE", `/v1/uploads/${done.id}`);
    expect((await readFile(runner, job, key)).status).toBe(404);
  });
});
