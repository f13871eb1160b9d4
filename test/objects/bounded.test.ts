/** Calls to objects: each one ends, and no stub is made without this bound. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ROOT } from "../../src/dev/bundle.ts";
import { TimedOut } from "../../src/lib/timeout.ts";
import { ANSWER_MS, bounded } from "../../src/objects/stubs/bounded.ts";

/** The namespaces of src/env.ts, except as text in quotes. */
const NAMESPACE =
  /(?<!")\b(?:PREDICTION|ACCOUNT|AUDIT|METRICS|POOL|REMOTE|RUNNER|CONVERSATION)\b(?!")/;
const STUBS = /^src\/objects\/stubs\/(?!bounded|content|jurisdiction)\w+\.ts$/;
/** Matches a method call on a namespace, or on that of the jurisdiction, and the code before it. */
const MADE =
  /((?:[\w.]*\()?(?:\(\) => )?)(?:inJurisdiction\(env, )?env\.(?:PREDICTION|ACCOUNT|AUDIT|METRICS|POOL|REMOTE|RUNNER|CONVERSATION)\)?\.(\w+)/g;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const sources = globSync("src/**/*.{ts,tsx}", { cwd: ROOT }).filter(
  (path) => path !== "src/env.ts" && !path.startsWith("src/dev/"),
);

const codeOf = (path: string) =>
  readFileSync(join(ROOT, path), "utf8").replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");

test("the namespaces of objects are only used in their stub modules", () => {
  expect(sources.filter((path) => NAMESPACE.test(codeOf(path))).toSorted()).toEqual([
    "src/objects/stubs/account.ts",
    "src/objects/stubs/audit.ts",
    "src/objects/stubs/conversation.ts",
    "src/objects/stubs/metrics.ts",
    "src/objects/stubs/pool.ts",
    "src/objects/stubs/prediction.ts",
    "src/objects/stubs/remote.ts",
    "src/objects/stubs/runner.ts",
  ]);
});

test.each(sources.filter((path) => STUBS.test(path)))(
  "the module %s makes bounded stubs only",
  (path) => {
    const made = [...codeOf(path).matchAll(MADE)]
      .filter(
        ([, , method = ""]) => !["newUniqueId", "idFromName", "idFromString"].includes(method),
      )
      .map(([, before]) => before);
    expect(made).toEqual(["bounded(() => "]);
  },
);

test.each(sources.filter((path) => STUBS.test(path)))(
  "the module %s makes IDs and finds names where the deployment has its objects",
  (path) => {
    expect(codeOf(path)).not.toMatch(/env\.\w+\.(?:newUniqueId|idFromName|getByName)\b/);
  },
);

const stub = {
  id: "7",
  hang: () => new Promise<never>(() => {}),
  fail: () => Promise.reject(new Error("broken")),
  async own(more: string) {
    return this.id + more;
  },
};

test("a call that is not answered rejects after its time", async () => {
  const hanging = bounded(() => stub, { ms: 500 }).hang();
  const rejected = expect(hanging).rejects.toThrow(new TimedOut("no answer to hang within 500 ms"));
  await vi.advanceTimersByTimeAsync(499);
  expect(vi.getTimerCount()).toBe(1);
  await vi.advanceTimersByTimeAsync(1);
  await rejected;
  await expect(hanging).rejects.toBeInstanceOf(TimedOut);
});

test("a call without a given time has 10 s", async () => {
  const rejected = expect(bounded(() => stub).hang()).rejects.toThrow(`${ANSWER_MS} ms`);
  await vi.advanceTimersByTimeAsync(10_000);
  await rejected;
});

test("a call that is answered leaves no timer, which would keep an object awake", async () => {
  expect(await bounded(() => stub).own("7")).toBe("77");
  await expect(bounded(() => stub).fail()).rejects.toThrow("broken");
  expect(vi.getTimerCount()).toBe(0);
});

test("a property that is no call passes unchanged", () => {
  expect(bounded(() => stub).id).toBe("7");
});
