/** Weights from a deployment that cuts connections and lies, into the folders of containers. */
import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, readdirSync, rmSync, statSync, truncateSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { rangeBytes } from "../../../runner/src/weights/range-plan.ts";
import type { SetupProgress } from "../../../src/protocol/event.ts";
import type { JobWeight } from "../../../src/protocol/weights.ts";
import { recordedLog } from "../support/docker-box.ts";
import {
  COMPLETE,
  contentOf,
  EIGHTH,
  filesIn,
  firstRange,
  folder,
  GB,
  joined,
  MIB,
  notes,
  ON_ITS_WAY,
  open,
  rangesThatCame,
  restart,
  server,
  sourceOf,
  useWeights,
} from "../support/weight-bed.ts";
import { noise } from "../support/weight-server.ts";

useWeights();

describe("a file", () => {
  test("a file comes whole, in ranges over several connections", async () => {
    const bytes = noise(100 * EIGHTH);
    const gate = Promise.withResolvers<void>();
    server.held = gate.promise;
    const opening = open([server.upload("/models/a.gguf", bytes)]);
    await expect.poll(() => server.requests.length).toBe(8);
    gate.resolve();
    const mounted = await opening;
    expect(contentOf(mounted, "/models/a.gguf").equals(bytes)).toBe(true);
    expect(server.requests).toHaveLength(13);
    expect(new Set(server.requests.map(firstRange)).size).toBe(13);
    expect(server.most).toBe(8);
    expect(server.sent).toBe(bytes.length);
    expect(filesIn(COMPLETE)).toHaveLength(1);
    expect(filesIn(/./)).toHaveLength(1);
    await mounted.release();
  });

  test("a file of more than 8 MiB comes in two ranges, as runners fetch it", async () => {
    await restart(GB, { rangeBytes });
    const bytes = noise(8 * MIB + 1);
    const mounted = await open([server.upload("/a", bytes)]);
    expect(contentOf(mounted, "/a").equals(bytes)).toBe(true);
    expect(server.requests.map(firstRange).toSorted((a, b) => a - b)).toEqual([0, 8 * MIB]);
    await mounted.release();
  });

  test("a file of one byte comes, too", async () => {
    const mounted = await open([server.upload("/a", Buffer.from("x"))]);
    expect(contentOf(mounted, "/a").toString()).toBe("x");
    await mounted.release();
  });

  test("a file is there for the next container without a request, under a link of its own", async () => {
    const weight = server.upload("/a", noise(1_000));
    const first = await open([weight]);
    const second = await open([{ ...weight, target: "/b" }]);
    expect(server.requests).toHaveLength(1);
    expect(sourceOf(second, "/b")).not.toBe(sourceOf(first, "/a"));
    expect(statSync(sourceOf(second, "/b")).ino).toBe(statSync(sourceOf(first, "/a")).ino);
    await first.release();
    expect(existsSync(sourceOf(first, "/a"))).toBe(false);
    expect(contentOf(second, "/b").length).toBe(1_000);
    await second.release();
    expect(readdirSync(join(folder, "mounts"))).toEqual([]);
    expect(filesIn(COMPLETE)).toHaveLength(1);
  });

  test("a file of another account is fetched again", async () => {
    const weight = server.upload("/a", noise(1_000));
    await (await open([weight])).release();
    await (await open([weight], { key: "other" })).release();
    expect(server.requests).toHaveLength(2);
    expect(filesIn(COMPLETE)).toHaveLength(2);
  });

  test("a file that several containers need at a time is fetched once", async () => {
    const weight = server.upload("/a", noise(20 * EIGHTH));
    const all = await Promise.all(Array.from({ length: 5 }, () => open([weight])));
    expect(server.sent).toBe(20 * EIGHTH);
    for (const mounted of all) {
      expect(contentOf(mounted, "/a").length).toBe(20 * EIGHTH);
      await mounted.release();
    }
  });

  test("a file goes on for the others when the first that asked for it gives up", async () => {
    const weight = server.upload("/a", noise(20 * EIGHTH));
    const gate = Promise.withResolvers<void>();
    server.held = gate.promise;
    const stop = new AbortController();
    const first = open([weight], { signal: stop.signal });
    await expect.poll(() => server.requests.length).toBeGreaterThan(0);
    const second = await joined(weight);
    stop.abort(new Error("canceled"));
    await expect(first).rejects.toThrow("canceled");
    gate.resolve();
    const mounted = await second.opening;
    expect(server.sent).toBe(20 * EIGHTH);
    await mounted.release();
  });
});

describe("a connection", () => {
  test("a connection that breaks again and again is resumed where it broke", async () => {
    const bytes = noise(40 * EIGHTH);
    server.trouble = (_, count) => (count % 2 === 1 ? { cutAfter: 3 * EIGHTH } : undefined);
    const mounted = await open([server.upload("/a", bytes)]);
    expect(contentOf(mounted, "/a").equals(bytes)).toBe(true);
    // Only the bytes that the broken connection had not brought yet are requested again.
    expect(server.sent).toBeLessThan(60 * EIGHTH);
    await mounted.release();
  });

  test.each([429, 500, 503])("a connection answered with %i is tried again", async (status) => {
    server.trouble = (_, count) => (count <= 2 ? { status } : undefined);
    const mounted = await open([server.upload("/a", noise(1_000))]);
    expect(server.requests).toHaveLength(3);
    await mounted.release();
  });

  test("a connection that is no longer answered ends the start, and the next start goes on", async () => {
    const bytes = noise(60 * EIGHTH);
    const weight = server.upload("/a", bytes);
    const waiting: ServerResponse[] = [];
    server.trouble = (request) => {
      if (firstRange(`${request.headers.range}`) < 24 * EIGHTH) return undefined;
      return { answer: (response) => void waiting.push(response) };
    };
    const first = open([weight]);
    first.catch(() => {});
    await expect.poll(rangesThatCame).toBe(3);
    for (const response of waiting) response.writeHead(403).end();
    await expect(first).rejects.toMatchObject({
      source: "internal",
      message: expect.stringContaining("the weights at /a: it could not be fetched"),
    });
    expect(filesIn(ON_ITS_WAY)).toHaveLength(1);
    server.trouble = () => undefined;
    const before = server.sent;
    const mounted = await open([weight]);
    expect(contentOf(mounted, "/a").equals(bytes)).toBe(true);
    expect(server.sent - before).toBe(36 * EIGHTH);
    await mounted.release();
  });

  test("a connection of a killed runner is resumed by the next process, which fetches missing ranges", async () => {
    const bytes = noise(60 * EIGHTH);
    const weight = server.upload("/a", bytes);
    const stop = new AbortController();
    server.trouble = (request) => {
      if (firstRange(`${request.headers.range}`) < 32 * EIGHTH) return undefined;
      return { answer: () => {} };
    };
    const first = open([weight], { signal: stop.signal });
    await expect.poll(() => server.sent).toBe(32 * EIGHTH);
    await expect.poll(rangesThatCame).toBe(4);
    stop.abort(new Error("killed"));
    await expect(first).rejects.toThrow("killed");
    // The note has a line that was torn by the end of the process, and a nonsensical one.
    appendFileSync(notes(), "x\n99\n5");
    server.trouble = () => undefined;
    await restart();
    const before = server.sent;
    const mounted = await open([weight]);
    expect(contentOf(mounted, "/a").equals(bytes)).toBe(true);
    expect(server.sent - before).toBe(28 * EIGHTH);
    await mounted.release();
  });

  test("a connection whose URL has expired for one start goes on with the URL of another", async () => {
    const weight = server.upload("/a", noise(20 * EIGHTH));
    if (weight.kind !== "file") throw new Error("it is a file");
    const gate = Promise.withResolvers<void>();
    server.held = gate.promise;
    const ended = { ...weight, url: weight.url.replace("?signature=s", "?") };
    const first = open([ended]);
    await expect.poll(() => server.requests.length).toBeGreaterThan(0);
    const second = await joined(weight);
    gate.resolve();
    for (const mounted of await Promise.all([first, second.opening])) await mounted.release();
  });
});

describe("a deployment that lies", () => {
  const lies: [string, (weight: Extract<JobWeight, { kind: "file" }>) => JobWeight, string][] = [
    ["a file has fewer bytes", (weight) => ({ ...weight, size: weight.size + 1 }), "declared"],
    ["a file has more bytes", (weight) => ({ ...weight, size: weight.size - 1 }), "declared"],
    [
      "a file is not there",
      (weight) => ({ ...weight, url: weight.url.replace("weights.bin", "nothing") }),
      "Publish",
    ],
  ];
  test.each(lies)("a deployment that lies is detected: %s", async (_name, lie, words) => {
    const weight = server.upload("/a", noise(20 * EIGHTH));
    if (weight.kind !== "file") throw new Error("it is a file");
    await expect(open([lie(weight)])).rejects.toMatchObject({
      source: "external",
      message: expect.stringContaining(words),
    });
    // The received bytes are deleted.
    expect(filesIn(/./)).toEqual([]);
    await (await open([weight])).release();
  });

  test("a deployment that sends another range, or more bytes, is detected", async () => {
    const weight = server.upload("/a", noise(20 * EIGHTH));
    const answers: [number, Record<string, string | number>, number][] = [
      [206, { "content-range": `bytes 0-9/${20 * EIGHTH}` }, 10],
      [200, { "content-length": 20 * EIGHTH }, 0],
      [206, { "content-range": `bytes 0-${8 * EIGHTH - 1}/${20 * EIGHTH}` }, 9 * EIGHTH],
      [302, { location: "http://127.0.0.1:9/" }, 0],
    ];
    for (const [status, headers, length] of answers) {
      server.trouble = () => ({
        answer: (response) => void response.writeHead(status, headers).end(Buffer.alloc(length)),
      });
      await expect(open([weight])).rejects.toThrow("the weights at /a");
    }
    server.trouble = () => undefined;
    const mounted = await open([weight]);
    expect(contentOf(mounted, "/a").equals(noise(20 * EIGHTH))).toBe(true);
    await mounted.release();
  });
});

describe("targets", () => {
  test.each([
    [["/etc/passwd"], "/etc"],
    [["relative"], "absolute"],
    [["/a", "/a/b"], "within another one"],
  ])("the targets %j are refused before anything is fetched", async (targets, words) => {
    const given = targets.map((target, n) => server.upload(target, noise(10), n));
    await expect(open(given)).rejects.toMatchObject({
      source: "external",
      message: expect.stringContaining(words),
    });
    expect(server.requests).toEqual([]);
  });
});

describe("room", () => {
  test("room is made by removing the least recently used files, and never those of a container", async () => {
    const log = recordedLog();
    await restart(35 * EIGHTH, { log });
    const [a, b, c] = [1, 2, 3].map((n) => server.upload(`/${n}`, noise(10 * EIGHTH, n), n));
    if (!a || !b || !c) throw new Error("three of them");
    const first = await open([a]);
    await (await open([b])).release();
    await (await open([c])).release();
    const fourth = await open([server.upload("/4", noise(10 * EIGHTH, 4), 4)]);
    expect(log.lines).toEqual([
      expect.stringMatching(/^info removed weights .*least recently used/),
    ]);
    expect(contentOf(first, "/1").length).toBe(10 * EIGHTH);
    const before = server.requests.length;
    await (await open([a, c])).release();
    expect(server.requests.length).toBe(before);
    await first.release();
    await fourth.release();
  });

  test("room that containers use is waited for, and the wait is reported", async () => {
    await restart(15 * EIGHTH);
    const first = await open([server.upload("/1", noise(10 * EIGHTH), 1)]);
    const reports: SetupProgress[] = [];
    const second = open([server.upload("/2", noise(10 * EIGHTH, 2), 2)], { reports });
    await expect.poll(() => reports.at(-1)?.message).toContain("waiting for disk space");
    expect(server.sent).toBe(10 * EIGHTH);
    await first.release();
    await (await second).release();
  });

  test("room of layers is not taken twice, because four at a time are unpacked", async () => {
    const layers = Array.from({ length: 8 }, (_, n) => ({
      files: { [`${n}`]: noise(MIB / 4, n) },
    }));
    // 2 MiB of files, and four layers of 0.25 MiB.
    await restart(3.125 * MIB);
    const mounted = await open([server.cog("/w", layers)]);
    expect(contentOf(mounted, "/w", "7").equals(noise(MIB / 4, 7))).toBe(true);
    await mounted.release();
  });
});

test.each([
  ["removed from the disk", (file: string) => rmSync(file)],
  ["cut off", (file: string) => truncateSync(file, 1_000)],
  ["removed with all that there is", () => rmSync(folder, { recursive: true })],
])("a file that others have %s is fetched again", async (_, harm) => {
  const weight = server.upload("/a", noise(EIGHTH));
  const first = await open([weight]);
  await first.release();
  const [account = ""] = readdirSync(join(folder, "files"));
  harm(join(folder, "files", account, filesIn(COMPLETE)[0] ?? ""));
  const second = await open([weight]);
  expect(contentOf(second, "/a").equals(noise(EIGHTH))).toBe(true);
  expect(server.sent).toBe(2 * EIGHTH);
  await second.release();
});

test("a file that others have removed is fetched again even while a container has it", async () => {
  const weight = server.upload("/a", noise(EIGHTH));
  const first = await open([weight]);
  rmSync(join(folder, "files"), { recursive: true });
  const second = await open([weight]);
  expect(contentOf(second, "/a").equals(noise(EIGHTH))).toBe(true);
  expect(contentOf(first, "/a").equals(noise(EIGHTH))).toBe(true);
  // The release of the first one does not affect the new file.
  await first.release();
  await second.release();
  await (await open([weight])).release();
  expect(server.sent).toBe(2 * EIGHTH);
});

test("the folders of an earlier process are removed, and its weights stay", async () => {
  const weight = server.upload("/a", noise(1_000));
  const mounted = await open([weight]);
  await restart();
  expect(readdirSync(join(folder, "mounts"))).toEqual([]);
  expect(existsSync(sourceOf(mounted, "/a"))).toBe(false);
  await (await open([weight])).release();
  expect(server.requests).toHaveLength(1);
});

test("the weights are readable by the runner's user only", async () => {
  await (await open([server.upload("/a", noise(10))])).release();
  const modes = execFileSync("stat", ["-c", "%a", join(folder, "files"), join(folder, "mounts")]);
  expect(modes.toString().trim().split("\n")).toEqual(["700", "700"]);
});
