/** Journeys on real containers of all models, whose promises hold with other engines or without a deployment by day. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { model, version } from "../../src/protocol/model.ts";
import { variable } from "../../src/protocol/variable.ts";
import { docker, type Pushed } from "../docker/registry.ts";
import { dockerIsUp } from "../runner/support/containers.ts";
import { USERNAME } from "./support/access.ts";
import { type Boxed, containersOf, networksOf, openBoxed } from "./support/boxed.ts";
import { openAiOf } from "./support/conventions.ts";
import { duotone, pixelsOf, SAMPLE } from "./support/duotone.ts";
import { endOf } from "./support/end.ts";
import type { Runner } from "./support/runner.ts";
import { uploadFile } from "./support/upload-file.ts";
import type { World } from "./support/world.ts";

const GREETING = "/models/greeting.txt";

const GREETER = `
CMD ["sh", "-c", "sed -i \\"s/Hello/$(cut -c 1-12 ${GREETING})/\\" model.mjs && exec node model.mjs"]
`;

describe.runIf(dockerIsUp)("in containers", () => {
  let boxed: Boxed;
  let world: World;
  let runner: Runner;
  /** The image of a model whose greeting is in a file outside of the image. */
  let greeter: Pushed;

  beforeAll(async () => {
    boxed = await openBoxed();
    world = boxed.world;
    greeter = await boxed.registry.push("hello", "weighed", GREETER);
    runner = await world.runner("boxed");
  });

  afterEach(async () => {
    if (runner.ended) runner = await world.runner("boxed");
  });

  afterAll(() => boxed.close());

  it("a container streams its output", async () => {
    const watch = await world.create("text-generation", { max_tokens: 40, seed: 7, delay_ms: 5 });
    const full = await endOf(world, watch, "succeeded");
    expect(full.output).toEqual(watch.dataOf("output"));
    expect(full.output).toHaveLength(40);
  });

  it("a container reads an upload and outputs a picture", async () => {
    const image = await uploadFile(world.client, SAMPLE);
    const colours = { dark: "#001122", light: "#ffeedd", width: 120 };
    const watch = await world.create("duotone", { image, ...colours });
    const { output } = await endOf(world, watch, "succeeded");
    const answer = await fetch(String(output));
    const made = await pixelsOf(Buffer.from(await answer.arrayBuffer()));
    expect(made).toEqual(await duotone(await readFile(SAMPLE), colours));
  });

  it("containers with an OpenAI-compatible server chat and embed", async () => {
    const { openai } = openAiOf(world.access);
    const stream = openai.chat.completions.stream({
      model: `${USERNAME}/chat`,
      messages: [{ role: "user", content: "Who is the Mad Hatter?" }],
      seed: 7,
      max_completion_tokens: 20,
    });
    const seen: string[] = [];
    stream.on("content", (delta) => seen.push(delta));
    const text = await stream.finalContent();
    expect(seen.join("")).toBe(text);
    expect(seen.length).toBeGreaterThan(5);
    const { data } = await openai.embeddings.create({
      model: `${USERNAME}/embeddings`,
      input: ["The king is on the throne", "The queen is on the throne", "The cat eats fish"],
    });
    const [king, queen, cat] = data.map(({ embedding }) => embedding);
    expect(cosine(king, queen)).toBeGreaterThan(cosine(king, cat));
  });

  it("a container finds the weights that its version names before its server starts", async () => {
    const path = `/models/${USERNAME}/hello`;
    const { latest_version } = await world.client.call(model, "GET", path);
    const file = join(world.folder, "greeting.txt");
    // The file is over 8 MiB, so it is fetched in two ranges.
    await writeFile(file, `Good morning${" ".repeat(9 * 1024 ** 2)}`);
    const weights = [{ target: GREETING, file: await uploadFile(world.client, file) }];
    const publish = (digest: string | undefined, configuration: object) =>
      world.client.call(version, "POST", `${path}/versions`, {
        body: {
          release_notes: "",
          container_image_digest: digest,
          schemas: latest_version?.schemas,
          configuration,
        },
      });
    const image = greeter.repository;
    await publish(greeter.digest, { ...latest_version?.configuration, image, weights });
    const watch = await world.create("hello", { name: "Ada" });
    const full = await endOf(world, watch, "succeeded");
    expect(full.output).toBe("Good morning, Ada!");
    expect(JSON.stringify(watch.dataOf("setup"))).toContain("loading the weights");
    await publish(
      latest_version?.container_image_digest ?? undefined,
      latest_version?.configuration ?? {},
    );
  });

  it("a container has the variables in its environment that its version names", async () => {
    const path = `/models/${USERNAME}/hello`;
    const { latest_version } = await world.client.call(model, "GET", path);
    const body = { value: 'lines\nof "quoted" $HOME 🔑=' };
    await world.client.call(variable, "PUT", `${path}/variables/GREETING`, { body });
    await world.client.call(version, "POST", `${path}/versions`, {
      body: {
        release_notes: "With a greeting",
        container_image_digest: latest_version?.container_image_digest,
        schemas: latest_version?.schemas,
        configuration: { ...latest_version?.configuration, variable_names: ["GREETING", "UNSET"] },
      },
    });
    await endOf(world, await world.create("hello", { name: "Ada" }), "succeeded");
    const label = `label=auspex.runner=${runner.name}`;
    // `docker ps` lists the newest container first. The one without the variable is another container.
    const [container = ""] = (await docker("ps", "--quiet", "--filter", label)).split("\n");
    // Process 1 is the model's own; Docker's processes have none of its variables.
    const environment = (await docker("exec", container, "cat", "/proc/1/environ")).split("\0");
    expect(environment).toContain(`GREETING=${body.value}`);
    expect(environment.join()).not.toContain("UNSET");
    expect(await docker("exec", container, "env")).not.toContain("GREETING");
    expect(await docker("inspect", container)).not.toContain("GREETING");
  });

  it("a failed prediction has the message of the exception that the model raised", async () => {
    const watch = await world.create("sums", { numbers: [1], mode: "fail" });
    const { error } = await endOf(world, watch, "failed");
    expect(error).toMatchObject({ source: "external", message: "Told to fail" });
  });

  it("a failed prediction has the last log lines of a container that crashed", async () => {
    const watch = await world.create("sums", { numbers: [1], mode: "crash" });
    const { error } = await endOf(world, watch, "failed");
    expect(error?.message).toMatch(/exited with code 1:\n[\s\S]*Told to crash/);
  });

  it("a cancel kills the container of a model that does not obey", async () => {
    const input = { numbers: [1], mode: "slow", seconds: 60, ignore_cancel: true };
    const watch = await world.create("sums", input);
    await watch.first("logs");
    expect(await world.cancel(watch.id)).toBe(202);
    await endOf(world, watch, "canceled");
    expect(await containersOf(runner, `${USERNAME}/sums`)).toEqual([]);
  });

  it("a prediction finishes on its draining runner although the next runner has started, which waits", async () => {
    const watch = await world.create("sums", { numbers: [1, 2], mode: "slow", seconds: 4 });
    await watch.first("logs");
    const draining = runner;
    draining.signal("SIGTERM");
    runner = await world.runner("again", { name: draining.name });
    expect(draining.ended).toBe(true);
    const full = await endOf(world, watch, "succeeded");
    expect(full.output).toMatchObject({ result: 3 });
    expect(watch.attempts).toEqual([1]);
    await endOf(world, await world.create("hello", {}), "succeeded");
    await world.retire(draining);
  });

  it("a prediction runs again elsewhere when its runner is killed, whose next process sweeps the leftovers", async () => {
    const watch = await world.create("sums", { numbers: [1, 2], mode: "slow", seconds: 1 });
    await watch.first("logs");
    const killed = runner;
    await killed.kill();
    expect(await containersOf(killed)).not.toEqual([]);
    runner = await world.runner("other");
    const full = await endOf(world, watch, "succeeded");
    expect(full.output).toMatchObject({ result: 3 });
    expect(watch.attempts).toHaveLength(2);
    const again = await world.runner("again", { name: killed.name });
    await vi.waitFor(async () => expect(await containersOf(killed)).toEqual([]));
    await world.retire(again);
    expect(await networksOf(killed)).toEqual([]);
  });

  it("a prediction fails when its runner is killed after output was seen", async () => {
    const watch = await world.create("text-generation", { max_tokens: 500, delay_ms: 50 });
    await watch.first("output");
    const killed = runner;
    await killed.kill();
    const { error } = await endOf(world, watch, "failed");
    expect(error?.source).toBe("internal");
    await world.retire(await world.runner("again", { name: killed.name }));
    expect(await containersOf(killed)).toEqual([]);
  });
});

/** The cosine of two vectors of unit length. */
const cosine = (a: number[] = [], b: number[] = []) =>
  a.reduce((sum, value, n) => sum + value * (b[n] ?? 0), 0);
