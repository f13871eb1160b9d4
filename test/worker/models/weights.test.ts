/** Files that versions name as weights: permitted files, their URLs in jobs, and their retention. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Version } from "../../../src/protocol/model.ts";
import { MEDIA_TYPES } from "../../../src/protocol/oci.ts";
import type { Upload } from "../../../src/protocol/upload.ts";
import { sized } from "../../support/sized.ts";
import { entriesOf } from "../support/audit.ts";
import { newModel, publish, referenceOf, VERSION } from "../support/catalogue.ts";
import { type Client, ORIGIN } from "../support/client.ts";
import { beginUpload, fileUrl, keysBelow, nobody, uploaded } from "../support/files.ts";
import { Images } from "../support/images.ts";
import { sweep } from "../support/queues.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { filesOf, jobFor, swept, TARGET, weighed, weightsAt } from "../support/weights.ts";
import { newClient, newUser, newWorld, type World } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

const DAY = 86_400;
describe("a version's weights", () => {
  const NAMES: [string, (upload: Upload) => string][] = [
    ["an upload's id", ({ id }) => id],
    ["an upload's path", ({ id }) => `/v1/uploads/${id}`],
    ["an upload's URL", ({ url }) => url],
    ["a file's URL", (upload) => fileUrl(upload)],
    ["a file's URL without a signature", (upload) => fileUrl(upload).replace(/\?.*/, "")],
  ];
  test.each(NAMES.slice(0, sized(2, NAMES.length)))(
    "a version can name weights by %s, and keeps the id",
    async (_name, file) => {
      const world = await newWorld();
      const upload = await uploaded(world.client);
      const { configuration } = await publish(world.client, world.model, weightsAt(file(upload)));
      expect(configuration.weights).toEqual([{ target: TARGET, file: upload.id }]);
      const entries = await entriesOf(world.client, "?action=version.created");
      expect(entries.map(({ changes }) => changes?.after.configuration)).toContainEqual({
        weights: configuration.weights,
      });
    },
  );

  test.each([
    ["a URL elsewhere", async () => "https://example.com/a.gguf", "is not a file of"],
    ["an invalid id", async () => "a.gguf", "is not a file of"],
    [
      "an unknown id",
      async () => crypto.randomUUID(),
      "was not found, or you do not have access to it",
    ],
    [
      "another user's upload",
      async () => (await uploaded((await newUser()).client)).id,
      "was not found, or you do not have access to it",
    ],
    ["a pending upload", async (client: Client) => (await beginUpload(client, 3)).id, "complete"],
    [
      "a deleted upload",
      async (client: Client) => {
        const { id } = await uploaded(client);
        await client.ok("DELETE", `/v1/uploads/${id}`);
        return id;
      },
      "was not found",
    ],
  ])("a version with %s as weights is refused", async (_name, fileOf, words) => {
    const { client } = await newUser();
    const model = referenceOf(await newModel(client));
    const body = { ...VERSION, ...weightsAt(await fileOf(client)) };
    const refused = await client.refused(`/v1/models/${model}/versions`, body);
    expect(refused.status).toBe(422);
    expect(refused.body.detail).toMatchObject([
      {
        loc: ["body", "configuration", "weights", "0", "file"],
        msg: expect.stringContaining(words),
      },
    ]);
    expect(await publish(client, model)).toMatchObject({ number: 1 });
  });

  test("a limited token can name only uploads of its own models as weights", async () => {
    const world = await newWorld();
    const { id } = await uploaded(world.client);
    const limited = await newClient(world.username, { models: [world.model] });
    const path = `/v1/models/${world.model}/versions`;
    const answer = await limited.refused(path, { ...VERSION, ...weightsAt(id) });
    expect(answer.status).toBe(403);
    const own = await uploaded(limited);
    expect((await limited.refused(path, { ...VERSION, ...weightsAt(own.id) })).status).toBe(200);
  });
});

describe("a job", () => {
  test("a job with weights has a URL that is signed at its hand-out, and a key for the cache", async () => {
    const world = await newWorld();
    const without = await jobFor(world, world.client);
    expect(without).not.toHaveProperty("weights");
    expect(without.keys).not.toHaveProperty("weights");
    // A job whose runner stays silent would be handed to the next runner.
    await world.client.post(`/v1/predictions/${without.prediction_id}/cancel`, {});
    const { upload } = await weighed(world);
    await world.client.create({ model: world.model, input: {} });
    advance(2_400);
    const job = await (await world.runner()).take();
    const [file] = filesOf(job);
    expect(file).toMatchObject({ target: TARGET, id: upload.id, size: 7 });
    expect(file?.url.startsWith(`${ORIGIN}/v1/files/${upload.id}/a.gguf?`)).toBe(true);
    advance(DAY - 60);
    const range = await nobody.fetch(file?.url ?? "", { headers: { range: "bytes=2-4" } });
    expect([range.status, await range.text()]).toEqual([206, "igh"]);
    expect(range.headers.get("content-range")).toBe("bytes 2-4/7");
    expect(job.keys.weights).toMatch(/^[\w-]{43}$/);
  });
});

describe("weights of Cog", () => {
  const WEIGHT = "application/vnd.cog.weight.v1";
  const CONFIG = "application/vnd.cog.weight.config.v1+json";
  const LABELS = { "run.cog.version": "0.22.0", "run.cog.config": '{"weights":[{"name":"base"}]}' };
  const given = { schemas: VERSION.schemas };

  /** Pushes a bundle as `cog push` makes it, with a weight at each of the targets. */
  async function push(images: Images, targets: string[], annotations: object = {}) {
    const image = await images.push("cog-image", { Labels: LABELS });
    const layer = await images.pushBlob("a layer");
    const weights = await Promise.all(
      targets.map(async (target, n) => {
        const config = `{"name":"w${n}"}`;
        const manifest = {
          schemaVersion: 2,
          mediaType: MEDIA_TYPES.ociManifest,
          artifactType: WEIGHT,
          config: { mediaType: CONFIG, digest: await images.pushBlob(config), size: config.length },
          layers: [{ mediaType: "application/vnd.oci.image.layer.v1.tar", digest: layer, size: 7 }],
          annotations: { "run.cog.weight.target": target, ...annotations },
        };
        const text = JSON.stringify(manifest);
        return images.entry(await images.put(`cog-weight.${n}`, text));
      }),
    );
    const unknown = { os: "unknown", architecture: "unknown" };
    const manifests = [
      {
        ...images.entry(image),
        platform: { os: "linux", architecture: "amd64" },
      },
      ...weights.map((weight, n) => ({
        ...weight,
        artifactType: WEIGHT,
        platform: unknown,
        annotations: { "run.cog.weight.name": `w${n}`, "run.cog.weight.size.uncompressed": "9" },
      })),
    ];
    const index = { schemaVersion: 2, mediaType: MEDIA_TYPES.ociIndex, manifests };
    await images.put("latest", JSON.stringify(index), MEDIA_TYPES.ociIndex);
    return { image, weights: weights.map(({ digest }) => digest) };
  }

  test("weights beside an image are in its jobs, with the files that its version names", async () => {
    const world = await newWorld();
    const images = new Images(world.client, world.model);
    const { weights } = await push(images, ["/src/weights", "/src/more"]);
    const { id } = await uploaded(world.client);
    const more = { configuration: { weights: [{ target: TARGET, file: id }] } };
    const { number } = await images.publish({ image: "latest", ...given, ...more });
    const row = await env.DB.prepare(
      "SELECT weights FROM versions WHERE number = ?1 AND model_id IN (SELECT id FROM models WHERE owner_id = ?2)",
    )
      .bind(number, world.user_id)
      .first<string>("weights");
    const [first, second] = weights;
    expect(JSON.parse(row ?? "")).toEqual([
      { name: "w0", target: "/src/weights", manifest: first, size: 9 },
      { name: "w1", target: "/src/more", manifest: second, size: 9 },
    ]);
    const job = await jobFor(world, world.client);
    expect(job.weights).toMatchObject([
      { kind: "oci", name: "w0", target: "/src/weights", manifest: first },
      { kind: "oci", name: "w1", target: "/src/more", manifest: second },
      { kind: "file", target: TARGET, id },
    ]);
    expect(job.keys.weights).toMatch(/^[\w-]{43}$/);
    expect(job.image).toMatchObject({ grant: expect.any(String) });
    // The next version has another image, and thus none of these weights.
    await images.push("plain", {});
    await images.publish({ image: "plain", ...given });
    expect((await jobFor(world, world.client)).weights).toMatchObject([{ kind: "file" }]);
  });

  const WRONG: [string, string[], object, object, string][] = [
    ["below the system", ["/etc/weights"], {}, {}, "must not hide /etc"],
    ["within others", ["/w", "/w/b"], {}, {}, "lies within another one"],
    ["without a target", ["/w"], { "run.cog.weight.target": undefined }, {}, "in Cog's format"],
    ["in the place of a file", ["/w"], {}, { target: "/w/a" }, "lies within another one"],
  ];
  test.each(WRONG.slice(0, sized(1, WRONG.length)))(
    "weights %s are refused",
    async (_name, targets, annotations, file, words) => {
      const { client } = await newUser();
      const images = new Images(client, referenceOf(await newModel(client)));
      await push(images, targets, annotations);
      const { id } = await uploaded(client);
      const weights = "target" in file ? [{ ...file, file: id }] : [];
      const refused = images.refused({ image: "latest", ...given, configuration: { weights } });
      expect(await refused).toContain(words);
    },
  );

  test("weights that an image expects must be beside it", async () => {
    const { client } = await newUser();
    const images = new Images(client, referenceOf(await newModel(client)));
    const { image } = await push(images, ["/w"]);
    expect(await images.refused({ image, ...given })).toContain("Use the tag");
    expect(await images.publish({ image: "latest", ...given })).toMatchObject({ number: 1 });
  });
});

describe("a file that a version names", () => {
  const versionPath = ({ model }: World, { number }: Version) =>
    `/v1/models/${model}/versions/${number}`;

  test("a version's file is kept, and cannot be deleted before the version", async () => {
    const world = await newWorld();
    const { upload, version } = await weighed(world);
    const path = `/v1/uploads/${upload.id}`;
    const refused = await world.client.json("DELETE", path);
    expect(refused).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining(`'${world.model}:${version.number}'`) },
    });
    for (let month = 0; month < 3; month++) {
      advance(40 * DAY);
      expect(await swept(upload.id)).toBe(false);
    }
    expect(await keysBelow(upload.id)).toHaveLength(1);
    expect((await world.client.ok<Upload>("GET", path)).status).toBe("completed");
    await world.client.ok("DELETE", versionPath(world, version));
    await world.client.ok("DELETE", path);
    expect(await keysBelow(upload.id)).toEqual([]);
  });

  test("a version's file is kept for a prediction whose model is deleted meanwhile", async () => {
    const world = await newWorld();
    const { upload } = await weighed(world);
    advance(60 * DAY);
    await sweep();
    await world.client.create({ model: world.model, input: {} });
    // The upload would have expired by now without the prediction.
    advance(1);
    await world.client.ok("DELETE", `/v1/models/${world.model}`);
    advance(2_400);
    await sweep();
    const [file] = filesOf(await (await world.runner()).take());
    expect(await (await nobody.fetch(file?.url ?? "")).text()).toBe("weights");
    advance(33 * DAY);
    expect(await swept(upload.id)).toBe(true);
  });
});
