import { describe, expect, test } from "vitest";
import type { PoolTelling } from "../../../src/objects/pool/rpc-types.ts";
import { ToldMemory, toldSize } from "../../../src/objects/pool/told-memory.ts";
import { readyContainer, runnerSnapshot } from "../../protocol/runner-snapshot.ts";

const telling = (changes: Partial<PoolTelling> = {}): PoolTelling => ({
  runner_id: "one",
  session: "s1",
  token_id: "token",
  pool: "cpu",
  snapshot: runnerSnapshot(),
  ...changes,
});

describe("what is remembered of runners has a bound in sum", () => {
  test("below it each tells what it has", () => {
    const memory = new ToldMemory(100);
    expect(memory.admit("one", { token: "token", size: 90 })).toEqual([]);
    expect(memory.admit("two", { token: "token", size: 10 })).toEqual([]);
    expect(memory.admit("one", { token: "token", size: 80 })).toEqual([]);
    expect(memory.admit("two", { token: "token", size: 20 })).toEqual([]);
  });

  test("one that tells more than an equal share is refused, and what it told before stays", () => {
    const memory = new ToldMemory(100);
    memory.admit("one", { token: "token", size: 40 });
    memory.admit("two", { token: "token", size: 40 });
    expect(memory.admit("two", { token: "token", size: 70 })).toBeUndefined();
    expect(memory.admit("three", { token: "token", size: 34 })).toBeUndefined();
    expect(memory.admit("three", { token: "token", size: 20 })).toEqual([]);
  });

  test("one with its share takes the place of the largest, and of no more than it needs", () => {
    const memory = new ToldMemory(100);
    memory.admit("large", { token: "token", size: 60 });
    memory.admit("middle", { token: "token", size: 30 });
    memory.admit("small", { token: "token", size: 10 });
    expect(memory.admit("new", { token: "token", size: 25 })).toEqual(["large"]);
    expect(memory.admit("large", { token: "token", size: 60 })).toBeUndefined();
    expect(memory.admit("large", { token: "token", size: 25 })).toEqual([]);
  });

  test("a token within its share gets room from the largest runner of the largest token", () => {
    const memory = new ToldMemory(100);
    for (const id of ["a", "b", "c"]) memory.admit(id, { token: "flood", size: 30 });
    memory.admit("d", { token: "flood", size: 10 });
    expect(memory.admit("quiet", { token: "own", size: 50 })).toEqual(["c", "b"]);
    expect(memory.admit("third", { token: "other", size: 30 })).toEqual(["quiet"]);
  });

  test("a token beyond its share gets room from its own runners alone", () => {
    const memory = new ToldMemory(100);
    memory.admit("quiet", { token: "own", size: 50 });
    memory.admit("a", { token: "flood", size: 30 });
    memory.admit("b", { token: "flood", size: 20 });
    expect(memory.admit("c", { token: "flood", size: 20 })).toBeUndefined();
    expect(memory.admit("c", { token: "flood", size: 15 })).toEqual(["a"]);
    expect(memory.admit("d", { token: "flood", size: 40 })).toBeUndefined();
    expect(memory.admit("quiet", { token: "own", size: 50 })).toEqual([]);
  });

  test("one that is read from storage takes nobody's place", () => {
    const memory = new ToldMemory(100);
    expect(memory.take("one", { token: "token", size: 90 })).toBe(true);
    expect(memory.take("two", { token: "token", size: 20 })).toBe(false);
    expect(memory.take("three", { token: "token", size: 10 })).toBe(true);
  });

  test("one that is gone leaves its room", () => {
    const memory = new ToldMemory(100);
    memory.admit("one", { token: "token", size: 100 });
    memory.delete("one");
    memory.delete("one");
    expect(memory.admit("two", { token: "token", size: 100 })).toEqual([]);
  });
});

describe("what does not fit whole", () => {
  const images = ["i".repeat(1_000)];

  test("is told without its images", () => {
    const memory = new ToldMemory(1_200);
    memory.admit("other", { token: "token", size: 400 });
    expect(memory.fit(telling({ images }), undefined)?.telling.images).toEqual([]);
  });

  test("counts the images that it told before", () => {
    const memory = new ToldMemory(1_800);
    memory.admit("other", { token: "token", size: 400 });
    const previous = { session: "s1", images: new Set(images) };
    expect(memory.fit(telling(), previous)?.telling.images).toBeUndefined();
    const grown = telling({ snapshot: runnerSnapshot({ containers: [readyContainer()] }) });
    expect(memory.fit(grown, previous)?.telling.images).toEqual([]);
    expect(memory.fit({ ...grown, session: "s2" }, previous)?.telling.images).toBeUndefined();
  });

  test("is refused if that is too much as well", () => {
    const memory = new ToldMemory(1_000);
    memory.admit("other", { token: "token", size: 800 });
    const containers = [readyContainer({ image: "i".repeat(400) })];
    expect(
      memory.fit(telling({ snapshot: runnerSnapshot({ containers }) }), undefined),
    ).toBeUndefined();
  });
});

test("texts, objects and numbers all count", () => {
  const size = (changes: Parameters<typeof runnerSnapshot>[0], images: string[] = []) =>
    toldSize(runnerSnapshot(changes), images);
  const device = { id: "0", name: "L40S", memory_gb: 45, holder: null };
  const sizes = [
    size({}),
    size({ jobs: [1] }),
    size({ devices: [device] }),
    size({ devices: [{ ...device, name: "NVIDIA L40S" }] }),
    size({ containers: [readyContainer()] }),
    size({ containers: [readyContainer({ runs_ms: [1] })] }),
    size({ containers: [readyContainer({ runs_ms: [1] })] }, ["an image"]),
  ];
  expect(sizes).toEqual(sizes.toSorted((a, b) => a - b));
  expect(new Set(sizes).size).toBe(sizes.length);
});
