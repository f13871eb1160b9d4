/** Replicate's npm client: its methods for models, files and deployments, and rare runs. */
import { readFile } from "node:fs/promises";
import Replicate from "replicate";
import { beforeAll, describe, expect, it } from "vitest";
import { USERNAME } from "../support/access.ts";
import { duotone, pixelsOf, SAMPLE } from "../support/duotone.ts";
import { runner, world } from "../support/shared.ts";

const HELLO = `${USERNAME}/hello` as const;
const GATED = `${USERNAME}/gated` as const;
const DUOTONE = `${USERNAME}/duotone` as const;
const ADA = { name: "Ada" };

let replicate: Replicate;

beforeAll(() => {
  const { url, token } = world.access;
  replicate = new Replicate({ auth: token, baseUrl: `${url}/replicate/v1` });
});

async function idOf(model: string): Promise<string> {
  const [owner = "", name = ""] = model.split("/");
  return (await replicate.models.get(owner, name)).latest_version?.id ?? "";
}

describe("Replicate's client", () => {
  it("run waits for a prediction that takes longer than its create may wait", async () => {
    const statuses: string[] = [];
    const input = { before: ["a"], gate: "long", after: ["b"] };
    const running = replicate.run(GATED, { input, wait: { mode: "block", timeout: 1 } }, (one) => {
      statuses.push(one.status);
      if (statuses.length === 3) runner.open("gated", "long");
    });
    expect(await running).toEqual(["a", "b"]);
    expect(statuses).toMatchObject({ 0: "starting", 1: "processing" });
    expect(statuses.at(-1)).toBe("succeeded");
  });

  it("run uploads a file, and its output is a file that needs no token", async () => {
    const image = new Blob([await readFile(SAMPLE)], { type: "image/jpeg" });
    const output = await replicate.run(DUOTONE, { input: { image, width: 64 } });
    const picture = await fetch(String(output));
    const made = await pixelsOf(Buffer.from(await picture.arrayBuffer()));
    const colours = { dark: "#1a1a2e", light: "#f5e6ca", width: 64 };
    expect(made.width).toBe((await duotone(await readFile(SAMPLE), colours)).width);
  });

  it("run throws for a wrong input before anything runs, and for a model that fails", async () => {
    await expect(replicate.run(HELLO, { input: { name: 3 } })).rejects.toThrow(
      /status 422.*input\.name: Input should be a valid string/,
    );
    await expect(
      replicate.run(DUOTONE, { input: { image: "data:text/plain;base64,bm8=" } }),
    ).rejects.toThrow(/Prediction failed: /);
  });

  it("models and their versions are created, read, listed and searched", async () => {
    const made = await replicate.models.create(USERNAME, "made-by-replicate", {
      visibility: "public",
      hardware: "cpu",
      description: "A barometer",
    });
    expect(made).toMatchObject({ owner: USERNAME, name: "made-by-replicate" });
    expect(await replicate.models.get(USERNAME, "made-by-replicate")).toEqual(made);
    const found = await replicate.models.search("barometer");
    expect(found.results).toEqual([expect.objectContaining({ name: "made-by-replicate" })]);
    const listed = [];
    for await (const page of replicate.paginate(replicate.models.list)) listed.push(...page);
    expect(listed).toContainEqual(expect.objectContaining({ name: "made-by-replicate" }));
    const { results } = await replicate.models.versions.list(USERNAME, "hello");
    const [version] = results;
    expect(await replicate.models.versions.get(USERNAME, "hello", version?.id ?? "")).toEqual(
      version,
    );
  });

  it("files are created, read, listed and deleted", async () => {
    const file = new File(["hello"], "hello.txt", { type: "text/plain" });
    const made = await replicate.files.create(file, { of: "Ada" });
    expect(made).toMatchObject({
      content_type: "text/plain",
      size: 5,
      metadata: { of: "Ada" },
      checksums: { sha256: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" },
    });
    expect(await replicate.files.get(made.id)).toEqual(made);
    expect((await replicate.files.list()).results).toContainEqual(made);
    expect(await replicate.files.delete(made.id)).toBe(true);
    await expect(replicate.files.get(made.id)).rejects.toThrow(/status 404/);
  });

  it("the account, hardware and collections are read", async () => {
    expect(await replicate.accounts.current()).toMatchObject({ type: "user", username: USERNAME });
    expect(await replicate.hardware.list()).toContainEqual({
      sku: "cpu",
      name: expect.any(String),
    });
    const { results } = await replicate.collections.list();
    for (const { slug } of results.slice(0, 1))
      expect(await replicate.collections.get(slug)).toMatchObject({
        slug,
        models: expect.any(Array),
      });
  });

  it("trainings are errors that say what to do", async () => {
    await expect(replicate.trainings.list()).rejects.toThrow(/status 404.*does not train models/);
  });

  it("a deployment is created, run, changed and deleted", async () => {
    const version = await idOf(HELLO);
    const place = [USERNAME, "greeter"] as const;
    const made = await replicate.deployments.create({
      ...{ name: "greeter", model: HELLO, version, hardware: "cpu" },
      ...{ min_instances: 0, max_instances: 1 },
    });
    expect(made).toMatchObject({
      owner: USERNAME,
      current_release: { number: 1, model: HELLO, version, configuration: { max_instances: 1 } },
    });
    const running = await replicate.deployments.predictions.create(...place, { input: ADA });
    expect(await replicate.wait(running, { interval: 50 })).toMatchObject({
      output: "Hello, Ada!",
    });
    await replicate.deployments.update(...place, { max_instances: 2 });
    expect(await replicate.deployments.get(...place)).toMatchObject({
      current_release: { number: 2, configuration: { max_instances: 2 } },
    });
    const { results } = await replicate.deployments.list();
    expect(results.map(({ name }) => name)).toContain("greeter");
    expect(await replicate.deployments.delete(...place)).toBe(true);
    await expect(replicate.deployments.get(...place)).rejects.toThrow(/404/);
  });
});
