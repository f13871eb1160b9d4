import { expect, test } from "vitest";
import { isolationKeys, type Run } from "../../../src/domain/scheduling/isolation.ts";

const SECRET = "a-secret-key-for-tests-of-32-chars";

const run: Run = {
  model_id: "model-1",
  version_number: 1,
  hardware: { identifier: "l40s", gpus: 1 },
  variables: {},
  isolation: "model",
  user_id: "ada",
  prediction_id: "run-1",
};
const keys = (changes: Partial<Run> = {}) => isolationKeys(SECRET, { ...run, ...changes });

/** Whether two runs of this isolation, of which the second has this difference, share a container. */
async function share(isolation: Run["isolation"], difference: Partial<Run>): Promise<boolean> {
  const [one, other] = await Promise.all([keys({ isolation }), keys({ isolation, ...difference })]);
  return one.container === other.container;
}

test.each([
  ["model", { prediction_id: "run-2" }, true],
  ["model", { user_id: "eve", prediction_id: "run-2" }, true],
  ["model", { version_number: 2 }, false],
  ["model", { model_id: "model-2" }, false],
  ["model", { variables: { TOKEN: "sealed" } }, false],
  ["model", { hardware: { identifier: "l40s-x4", gpus: 1 } }, false],
  ["model", { hardware: { identifier: "l40s", gpus: 2 } }, false],
  ["account", { prediction_id: "run-2" }, true],
  ["account", { user_id: "eve", prediction_id: "run-2" }, false],
  ["account", { version_number: 2 }, false],
  ["account", { model_id: "model-2" }, false],
  ["prediction", {}, true],
  ["prediction", { prediction_id: "run-2" }, false],
] as const)("by %s, with %j: shared %s", async (isolation, difference, shared) => {
  expect(await share(isolation, difference)).toBe(shared);
});

test("runs with different isolations have different containers", async () => {
  const all = (["model", "account", "prediction"] as const).map((isolation) => keys({ isolation }));
  const containers = (await Promise.all(all)).map(({ container }) => container);
  expect(new Set(containers)).toHaveLength(3);
});

test("the key of files is an account's own, whichever model and prediction it is for", async () => {
  const { files } = await keys();
  expect((await keys({ model_id: "model-2", prediction_id: "run-2" })).files).toBe(files);
  expect((await keys({ user_id: "eve" })).files).not.toBe(files);
});

test("keys cannot be derived from the IDs without the secret", async () => {
  const [mine, theirs, none] = await Promise.all([
    keys(),
    isolationKeys("another-secret-key-of-32-characters", run),
    isolationKeys("", run),
  ]);
  expect(new Set([mine, theirs, none].map(({ container }) => container))).toHaveLength(3);
  expect(new Set([mine, theirs, none].map(({ files }) => files))).toHaveLength(3);
  for (const key of Object.values(mine)) expect(key).toMatch(/^[\w-]{43}$/);
});

test("the key of weights is their owner's, whichever model and account run", async () => {
  expect(await keys()).not.toHaveProperty("weights");
  const { weights } = await keys({ weights_owner_id: "bob" });
  const others = { model_id: "model-2", version_number: 2, user_id: "eve", prediction_id: "run-2" };
  expect((await keys({ ...others, weights_owner_id: "bob" })).weights).toBe(weights);
  const [ada, own] = await Promise.all([
    keys({ weights_owner_id: "ada" }),
    keys({ weights_owner_id: run.user_id }),
  ]);
  expect(ada.weights).not.toBe(weights);
  // The two keys differ, so that the owner cannot derive the cached files of one from the other.
  expect(own.weights).not.toBe(own.files);
});
