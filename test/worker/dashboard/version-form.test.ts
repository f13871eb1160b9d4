/** The form for a new version of an image in this registry, without client code. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { app } from "../../../src/app.ts";
import { createDashboard } from "../../../src/dashboard/app.tsx";
import type { Version } from "../../../src/protocol/model.ts";
import { ORIGIN } from "../support/client.ts";
import { newOwnImages } from "../support/images.ts";
import { issueOf, NEW_VERSION } from "../support/model-pages.ts";
import { textOf } from "../support/page-text.ts";
import { DIGEST } from "../support/world.ts";

const HOST = new URL(ORIGIN).host;

/** The fields that the form sends when only the tag is changed. */
const BY_TAG = {
  ...NEW_VERSION,
  image_by: "tag",
  image: "v1",
  container_image_digest: "",
  schemas_from: "image",
  interface: "",
};

const OPENAPI = JSON.stringify({
  openapi: "3.0.2",
  components: {
    schemas: {
      Input: { type: "object", properties: { verse: { type: "string" } }, required: ["verse"] },
      Output: { type: "string" },
    },
  },
});
const COG = { "run.cog.version": "0.17.0", "run.cog.openapi_schema": OPENAPI };

const checked = (html: string, name: string) =>
  [...html.matchAll(new RegExp(`name="${name}" value="(\\w*)" checked`, "g"))].map(
    ([, one]) => one,
  );

async function withForm() {
  const made = await newOwnImages();
  const path = `/models/${made.model}/versions`;
  return {
    ...made,
    form: async () => (await made.visitor.look(`${path}/new`)).html,
    send: (fields: object) => made.visitor.send(`${path}/new`, { ...BY_TAG, ...fields }),
    version: (n: number) => made.client.ok<Version>("GET", `/v1${path}/${n}`),
    path,
  };
}

describe("a version by tag", () => {
  it("a tag is the only field that a version needs: the rest is read from the image", async () => {
    const { images, send, version, path } = await withForm();
    const digest = await images.push("v1", { Labels: COG });
    expect((await send({})).location).toBe(`${path}/1`);
    const made = await version(1);
    expect(made).toMatchObject({ container_image_digest: digest, status: "ready" });
    expect(made.configuration).toMatchObject({ interface: "cog" });
    expect(JSON.stringify(made.schemas.prediction.input)).toContain("verse");
  });

  it("a tag is chosen among the pushed ones, without Cog's own", async () => {
    const { images, form } = await withForm();
    for (const tag of ["v1", "latest", "cog-image.v1", "v2"]) await images.push(tag, {});
    const html = await form();
    const options = [...html.matchAll(/<option value="([^"]*)"( selected)?[^>]*>\1 \(sha256/g)];
    expect(options.map(([, tag]) => tag).toSorted()).toEqual(["latest", "v1", "v2"]);
    expect(options.find(([, , selected]) => selected)?.[1]).toBe("latest");
    expect(checked(html, "image_by")).toEqual(["tag"]);
    expect(checked(html, "schemas_from")).toEqual(["image"]);
    expect(checked(html, "interface")).toEqual([""]);
  });

  it("a tag cannot be named before an image was pushed, and the error says what to do", async () => {
    const { model, form, send } = await withForm();
    const text = textOf(await form());
    expect(text).toContain(`No images in ${HOST}/${model} yet`);
    expect(text).toContain(`auspex publish --model ${model}`);
    const { status, html } = await send({ image: "" });
    expect(status).toBe(422);
    expect(issueOf(html, "image_by")).toContain("push an image");
  });

  it("a tag that is missing, or whose image does not fit, has an error at its field", async () => {
    const { images, send } = await withForm();
    await images.push("v1", {}, "arm64");
    expect(issueOf((await send({})).html, "image")).toContain(
      "docker build --platform linux/amd64",
    );
    expect(issueOf((await send({ image: "v2" })).html, "image")).toContain("Push it first");
  });
});

describe("values of the form", () => {
  it("a value of the form overrides the image's", async () => {
    const { images, send, version } = await withForm();
    await images.push("v1", { Labels: COG });
    await send({ schemas_from: "form", input: '{"title": "mine"}', interface: "vendora" });
    expect(await version(1)).toMatchObject({
      schemas: { prediction: { input: { title: "mine" } } },
      configuration: { interface: "vendora" },
    });
    await send({ compatibilities: ["vendora_embeddings"] });
    const { compatibilities } = await version(2);
    expect(compatibilities).toMatchObject({
      vendora_embeddings: true,
      vendora_chat_completions: false,
    });
  });

  it("a value of the form is in the next form, and what was read from the image is not", async () => {
    const { images, form, send } = await withForm();
    await images.push("v1", {
      Labels: { ...COG, "run.cog.config": '{"concurrency": {"max": 7}}' },
    });
    await send({ timeout_seconds: "90" });
    const html = await form();
    expect(html).toContain('value="90"');
    expect(html).not.toContain('value="7"');
    expect(checked(html, "interface")).toEqual([""]);
    expect(checked(html, "schemas_from")).toEqual(["image"]);
    expect(textOf(html)).toContain('"verse"');
  });
});

describe("an image in another registry", () => {
  it("another registry is not offered where the operator allows none", async () => {
    const { visitor, model, form } = await withForm();
    const offer = "The image can be in another registry.";
    expect(await form()).toContain(offer);
    const request = new Request(`${ORIGIN}/models/${model}/versions/new`, {
      headers: {
        accept: "text/html",
        cookie: [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join("; "),
      },
    });
    const here = { ...env, IMAGE_REGISTRY: "" };
    const response = await createDashboard(app).fetch(request, here, createExecutionContext());
    const html = await response.text();
    expect(html).toContain('name="container_image_digest"');
    expect(html).not.toContain(offer);
    expect(html).not.toContain('name="repository"');
  });

  it("another registry needs schemas, and the error is at the choice", async () => {
    const { send } = await withForm();
    const fields = { image_by: "digest", container_image_digest: DIGEST };
    const { status, html } = await send(fields);
    expect(status).toBe(422);
    expect(issueOf(html, "schemas_from")).toContain("so `schemas` is required");
    expect(checked(html, "image_by")).toEqual(["digest"]);
  });

  it("the next form begins with the same registry", async () => {
    const { form, send } = await withForm();
    const fields = { image_by: "digest", container_image_digest: DIGEST, schemas_from: "form" };
    await send({ ...fields, image: "ignored", interface: "vendora" });
    const html = await form();
    expect(checked(html, "image_by")).toEqual(["digest"]);
    expect(checked(html, "schemas_from")).toEqual(["form"]);
    expect(checked(html, "interface")).toEqual(["vendora"]);
  });

  it("a digest of an image that is here may be named", async () => {
    const { images, send, version } = await withForm();
    const digest = await images.push("v1", { Labels: COG });
    await send({ image_by: "digest", container_image_digest: digest });
    expect(await version(1)).toMatchObject({ container_image_digest: digest, status: "ready" });
  });
});
