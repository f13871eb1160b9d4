/** Replicate's npm client, method by method: it has only a base URL and a token of this service. */
import { readFile } from "node:fs/promises";
import Replicate, { type Prediction, validateWebhook } from "replicate";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Receiver } from "../receiver/receiver.ts";
import { USERNAME } from "./support/access.ts";
import { duotone, pixelsOf, SAMPLE } from "./support/duotone.ts";
import type { Runner } from "./support/runner.ts";
import { World } from "./support/world.ts";

const HELLO = `${USERNAME}/hello` as const;
const TEXT = `${USERNAME}/text-generation` as const;
const GATED = `${USERNAME}/gated` as const;
const DUOTONE = `${USERNAME}/duotone` as const;
const ADA = { name: "Ada" };

let world: World;
let runner: Runner;
let receiver: Receiver;
let replicate: Replicate;

beforeAll(async () => {
  receiver = await Receiver.open();
  world = await World.open({ variables: { WEBHOOK_ALLOW_INSECURE: "true" } });
  runner = await world.runner("one", { slots: 8 });
  const { url, token } = world.access;
  replicate = new Replicate({ auth: token, baseUrl: `${url}/replicate/v1` });
});
afterAll(async () => {
  await world.close();
  await receiver.close();
});

async function idOf(model: string): Promise<string> {
  const [owner = "", name = ""] = model.split("/");
  return (await replicate.models.get(owner, name)).latest_version?.id ?? "";
}

describe("run", () => {
  it("run returns the output of a model, and of a version", async () => {
    expect(await replicate.run(HELLO, { input: ADA })).toBe("Hello, Ada!");
    const version = await idOf(HELLO);
    expect(await replicate.run(`${HELLO}:${version}`, { input: ADA })).toBe("Hello, Ada!");
    const poll = { mode: "poll" as const, interval: 50 };
    expect(await replicate.run(HELLO, { input: ADA, wait: poll })).toBe("Hello, Ada!");
  });

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
});

describe("stream", () => {
  it("stream yields the pieces of an output, and its end", async () => {
    const input = { prompt: "Alice was", max_tokens: 20, seed: 7 };
    const events = [];
    for await (const event of replicate.stream(TEXT, { input })) events.push(event);
    const pieces = events.filter(({ event }) => event === "output").map(({ data }) => data);
    expect(pieces.join("")).toBe([await replicate.run(TEXT, { input })].flat().join(""));
    expect(events.at(-1)).toMatchObject({ event: "done", data: "{}", id: expect.any(String) });
  });
});

describe("predictions", () => {
  it("predictions are created, read, listed, waited for, and canceled", async () => {
    const version = await idOf(HELLO);
    const made = await replicate.predictions.create({ version, input: ADA });
    expect(made).toMatchObject({ model: HELLO, version, input: ADA, source: "api" });
    const ended = await replicate.wait(made, { interval: 50 });
    expect(ended).toMatchObject({ id: made.id, status: "succeeded", output: "Hello, Ada!" });
    // Every response has a stream URL of its own, valid for a day from that second.
    const stream = expect.stringContaining(`/replicate/v1/streams/${made.id}?`);
    expect(await replicate.predictions.get(made.id)).toEqual({
      ...ended,
      urls: { ...ended.urls, stream },
    });
    const blocked = await replicate.predictions.create({ model: HELLO, input: ADA, wait: true });
    expect(blocked.status).toBe("succeeded");
    const ids: string[] = [];
    for await (const page of replicate.paginate(replicate.predictions.list))
      ids.push(...page.map((one) => one.id));
    expect(ids).toEqual(expect.arrayContaining([made.id, blocked.id]));
    const input = { before: ["a"], gate: "never", after: [] };
    const gated = await replicate.predictions.create({ model: GATED, input });
    await replicate.predictions.cancel(gated.id);
    expect((await replicate.wait(gated, { interval: 50 })).status).toBe("canceled");
  });
});

describe("models", () => {
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
});

describe("files", () => {
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
});

describe("the rest", () => {
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

  it("a webhook is validated with the account's secret", async () => {
    const { id } = await replicate.predictions.create({
      model: HELLO,
      input: ADA,
      webhook: `${receiver.url}/hook`,
      webhook_events_filter: ["completed"],
    });
    const [hook] = await receiver.waitFor("/hook", 1);
    const body: Prediction = JSON.parse(hook?.body ?? "");
    expect(body).toMatchObject({ id, status: "succeeded", output: "Hello, Ada!" });
    const { key: secret } = await replicate.webhooks.default.secret.get();
    const signed = {
      id: hook?.headers["webhook-id"] ?? "",
      timestamp: hook?.headers["webhook-timestamp"] ?? "",
      signature: hook?.headers["webhook-signature"] ?? "",
      body: hook?.body ?? "",
      secret,
    };
    expect(await validateWebhook(signed)).toBe(true);
    expect(await validateWebhook({ ...signed, body: `${signed.body} ` })).toBe(false);
  });
});
