/** Files at the origin of pages and at FILES_ORIGIN, and the keys that sign their addresses. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import type { Bindings } from "../../../src/env.ts";
import worker from "../../../src/worker.ts";
import { ORIGIN } from "../support/client.ts";
import { fileUrl, nobody, uploaded } from "../support/files.ts";
import { newUser } from "../support/world.ts";

const FILES = "https://files.auspex.test";
const apart: Bindings = Object.assign({}, env, { FILES_ORIGIN: FILES });

const ask = async (url: string, bindings: Bindings, init: RequestInit = {}) =>
  worker.fetch(
    new Request(url, { redirect: "manual", ...init }),
    bindings,
    createExecutionContext(),
  );

const policyOf = async (bindings: Bindings) => {
  const answer = await ask(`${ORIGIN}/models`, bindings, { headers: { accept: "text/html" } });
  await answer.text();
  const policy = answer.headers.get("content-security-policy") ?? "";
  return Object.fromEntries(
    policy.split("; ").map((directive): [string, string[]] => {
      const [name = "", ...sources] = directive.split(/ +/);
      return [name, sources.filter(Boolean)];
    }),
  );
};

const { client } = await newUser();
const file = await uploaded(client, "0123456789", { name: "digits.txt" });
const { pathname, search } = new URL(fileUrl(file));
const bearer = { authorization: `Bearer ${client.token}` };

describe("a page", () => {
  test("a page runs only scripts and styles of the Worker's assets", async () => {
    const policy = await policyOf(env);
    expect(policy["script-src"]).toEqual([`${ORIGIN}/assets/`]);
    expect(policy["style-src"]).toEqual([`${ORIGIN}/assets/`]);
    expect(policy["font-src"]).toEqual([`${ORIGIN}/assets/`, "data:"]);
    expect(policy["img-src"]).toEqual(["'self'", "data:", "blob:"]);
    const docs = await nobody.fetch("/docs", { headers: { accept: "text/html" } });
    await docs.text();
    const theirs = docs.headers.get("content-security-policy");
    for (const kind of ["script-src", "style-src", "font-src"])
      expect(theirs).toContain(`${kind} ${ORIGIN}/assets/;`);
  });

  test("a page shows images and media from FILES_ORIGIN", async () => {
    const policy = await policyOf(apart);
    expect(policy["img-src"]).toContain(FILES);
    expect(policy["media-src"]).toContain(FILES);
    expect(policy["script-src"]).toEqual([`${ORIGIN}/assets/`]);
  });
});

describe("files at FILES_ORIGIN", () => {
  test("files have addresses at FILES_ORIGIN, and are read there", async () => {
    const upload = await ask(`${ORIGIN}/v1/uploads/${file.id}`, apart, { headers: bearer });
    const { file_url, url } = await upload.json<{ file_url: string; url: string }>();
    expect(new URL(file_url).origin).toBe(FILES);
    expect(new URL(url).origin).toBe(ORIGIN);
    const read = await ask(file_url, apart);
    expect([read.status, await read.text()]).toEqual([200, "0123456789"]);
  });

  test("files at earlier addresses redirect to FILES_ORIGIN", async () => {
    const answer = await ask(fileUrl(file), apart);
    expect([answer.status, answer.headers.get("location")]).toEqual([
      307,
      `${FILES}${pathname}${search}`,
    ]);
  });

  test("files at an encoded path redirect to FILES_ORIGIN as well", async () => {
    const encoded = pathname.replace("/v1/files", "/%761/file%73");
    const answer = await ask(`${ORIGIN}${encoded}${search}`, apart);
    expect(answer.status).toBe(307);
    const read = await ask(answer.headers.get("location") ?? "", apart);
    expect([read.status, await read.text()]).toEqual([200, "0123456789"]);
  });

  test("files are read with a token at the API's origin, and answer preflights at FILES_ORIGIN", async () => {
    const own = await ask(`${ORIGIN}${pathname}`, apart, { headers: bearer });
    expect([own.status, await own.text()]).toEqual([200, "0123456789"]);
    const asking = { origin: "https://app.example.com", "access-control-request-method": "GET" };
    const preflight = await ask(`${FILES}${pathname}${search}`, apart, {
      method: "OPTIONS",
      headers: asking,
    });
    expect(preflight.status).toBe(204);
  });

  test.each([
    ["GET", "/", "text/html"],
    ["GET", "/sign-in", "text/html"],
    ["GET", "/docs", "text/html"],
    ["GET", "/v1/models", "application/json"],
    ["GET", "/v1/user", "application/json"],
    ["POST", "/v1/predictions", "application/json"],
    ["POST", `${pathname}/addresses`, "application/json"],
    ["GET", `${pathname}/more`, "application/json"],
    ["GET", `/v1%2Ffiles${pathname.slice("/v1/files".length)}`, "application/json"],
    ["GET", "/%761/models", "application/json"],
  ])("the origin FILES_ORIGIN serves no other route: %s %s", async (method, path, accept) => {
    const answer = await ask(`${FILES}${path}`, apart, { method, headers: { ...bearer, accept } });
    expect(answer.status).toBe(404);
    expect(await answer.text()).toContain("serves only files");
  });

  test("files can be inputs by either address, and a missing one is refused", async () => {
    const there = `${FILES}${pathname}${search}`;
    const gone = `${FILES}/v1/files/01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e/x.png?expires=1&signature=a`;
    const model = await imageModel();
    const create = (image: string) =>
      ask(`${ORIGIN}/v1/predictions`, apart, {
        method: "POST",
        headers: { ...bearer, "content-type": "application/json" },
        body: JSON.stringify({ model, input: { image } }),
      });
    for (const image of [there, fileUrl(file)]) {
      const answer = await create(image);
      await answer.text();
      expect(answer.status).toBe(202);
    }
    const answer = await create(gone);
    expect([answer.status, await answer.text()]).toEqual([
      422,
      expect.stringContaining("was not found, or you do not have access to it"),
    ]);
  });
});

async function imageModel(): Promise<string> {
  const { username } = await client.ok<{ username: string }>("GET", "/v1/user");
  await client.ok("POST", "/v1/models", { name: "frame" });
  await client.ok("POST", `/v1/models/${username}/frame/versions`, {
    release_notes: "",
    container_image_digest: `sha256:${"a".repeat(64)}`,
    schemas: {
      prediction: {
        input: { type: "object", properties: { image: { type: "string", format: "uri" } } },
        output: {},
      },
    },
  });
  return `${username}/frame`;
}

describe("the key that signs addresses", () => {
  const NEW = "a-new-secret-key-of-32-characters!";
  /** The key of test/projects/worker.ts. */
  const OLD = "a-secret-key-for-tests-of-32-chars";
  const withKey = (SECRET_KEY: string): Bindings => Object.assign({}, env, { SECRET_KEY });
  const status = async (bindings: Bindings, url = fileUrl(file)) => {
    const answer = await ask(url, bindings);
    await answer.text();
    return answer.status;
  };

  test("an address is valid as long as the key that signed it is in SECRET_KEY", async () => {
    expect(await status(env)).toBe(200);
    expect(await status(withKey(`${NEW},${OLD}`))).toBe(200);
    expect(await status(withKey(NEW))).toBe(403);
  });

  test("an address is signed with the newest of several keys", async () => {
    const answer = await ask(`${ORIGIN}/v1/uploads/${file.id}`, withKey(`${NEW},${OLD}`), {
      headers: bearer,
    });
    const { file_url } = await answer.json<{ file_url: string }>();
    expect(await status(withKey(NEW), file_url)).toBe(200);
    expect(await status(env, file_url)).toBe(403);
  });

  test("an address is signed with the deployment's own key if there is no SECRET_KEY", async () => {
    const none = withKey("");
    const answer = await ask(`${ORIGIN}/v1/uploads/${file.id}`, none, { headers: bearer });
    const { file_url } = await answer.json<{ file_url: string }>();
    expect(await status(none, file_url)).toBe(200);
    expect(await status(env, file_url)).toBe(403);
  });
});
