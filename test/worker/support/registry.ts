/** A client of the registry, like docker: pushes, pulls and reads. */
import { expect } from "vitest";
import { ResumableHash } from "../../../src/domain/registry/resumable-hash.ts";
import { hex } from "../../../src/lib/hex.ts";
import { MEDIA_TYPES } from "../../../src/protocol/oci.ts";
import { type RegistryErrorCode, registryErrors } from "../../../src/protocol/registry.ts";
import { Client } from "./client.ts";
import { newUser, unique } from "./world.ts";

export type Bytes = Uint8Array<ArrayBuffer>;

/** Returns the digest of a content. R2 checks every digest that it gets, so a wrong one would be noticed. */
export function digestOf(content: Uint8Array | string): string {
  const hash = new ResumableHash();
  hash.update(typeof content === "string" ? new TextEncoder().encode(content) : content);
  return hash.digest();
}

export const sha512Of = async (content: Bytes): Promise<string> =>
  `sha512:${hex(await crypto.subtle.digest("SHA-512", content))}`;

export const bytesOf = (text: string): Bytes => Uint8Array.from(new TextEncoder().encode(text));

let seed = 0;
/** Returns bytes that no other test has. */
export function randomBytes(length: number): Bytes {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at += 65_536)
    crypto.getRandomValues(bytes.subarray(at, Math.min(length, at + 65_536)));
  if (length >= 8) new DataView(bytes.buffer).setUint32(0, ++seed);
  return bytes;
}

/** Returns a body without a length. */
export const streamOf = (...chunks: Bytes[]): ReadableStream<Bytes> =>
  new ReadableStream({
    pull(controller) {
      const chunk = chunks.shift();
      if (chunk) controller.enqueue(chunk);
      else controller.close();
    },
  });

export interface Pushed {
  digest: string;
  config: Bytes;
  layers: Bytes[];
  manifest: string;
}

export class Repository {
  readonly client: Client;
  /** `owner/name`. */
  readonly name: string;

  constructor(client: Client, name: string) {
    this.client = client;
    this.name = name;
  }

  as(client: Client): Repository {
    return new Repository(client, this.name);
  }

  send(method: string, path: string, init: RequestInit = {}): Promise<Response> {
    const at = path.startsWith("/") ? path : `/v2/${this.name}/${path}`;
    const { headers, ...rest } = init;
    return this.client.fetch(at, {
      method,
      redirect: "manual",
      ...rest,
      headers: Object.fromEntries(new Headers(headers)),
    });
  }

  /** Begins an upload. @returns its address */
  async begin(): Promise<string> {
    const response = await this.send("POST", "blobs/uploads/");
    expect(response.status, await response.clone().text()).toBe(202);
    return response.headers.get("location") ?? "";
  }

  patch(location: string, body: Bytes | ReadableStream<Bytes>, headers: HeadersInit = {}) {
    return this.send("PATCH", location, {
      body,
      headers: {
        "content-type": "application/octet-stream",
        ...Object.fromEntries(new Headers(headers)),
      },
    });
  }

  /** Sends a chunk at its place. */
  chunk(location: string, bytes: Bytes, first: number) {
    const last = first + bytes.byteLength - 1;
    return this.patch(location, bytes, { "content-range": `${first}-${last}` });
  }

  finish(location: string, digest: string, body?: Bytes): Promise<Response> {
    return this.send("PUT", `${location}?digest=${digest}`, body ? { body } : {});
  }

  /** Pushes a blob as containerd does. @returns its digest */
  async push(bytes: Bytes): Promise<string> {
    const digest = digestOf(bytes);
    const response = await this.finish(await this.begin(), digest, bytes);
    expect(response.status, await response.clone().text()).toBe(201);
    return digest;
  }

  putManifest(reference: string, text: string, type: string = MEDIA_TYPES.ociManifest) {
    return this.send("PUT", `manifests/${reference}`, {
      body: text,
      headers: { "content-type": type },
    });
  }

  /** Pushes an image with its layers, under a tag. */
  async pushImage(
    tag = "latest",
    { layers = [randomBytes(1_000)], labels = {} }: { layers?: Bytes[]; labels?: object } = {},
  ): Promise<Pushed> {
    const config = bytesOf(
      JSON.stringify({
        architecture: "amd64",
        os: "linux",
        config: { Labels: labels },
        unique: unique(""),
      }),
    );
    for (const bytes of [config, ...layers]) await this.push(bytes);
    const manifest = manifestOf(config, layers);
    const response = await this.putManifest(tag, manifest);
    expect(response.status, await response.clone().text()).toBe(201);
    return { digest: digestOf(manifest), config, layers, manifest };
  }

  /** Returns a whole blob. */
  async blob(digest: string): Promise<Bytes> {
    const response = await this.send("GET", `blobs/${digest}`);
    if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
    return new Uint8Array(await response.arrayBuffer());
  }

  /** Whether a HEAD finds the blob. */
  async has(digest: string): Promise<boolean> {
    return (await this.send("HEAD", `blobs/${digest}`)).status === 200;
  }
}

export function manifestOf(config: Bytes, layers: Bytes[], extra: object = {}): string {
  const described = (bytes: Bytes, mediaType: string) => ({
    mediaType,
    digest: digestOf(bytes),
    size: bytes.byteLength,
  });
  return JSON.stringify({
    schemaVersion: 2,
    mediaType: MEDIA_TYPES.ociManifest,
    config: described(config, MEDIA_TYPES.ociConfig),
    layers: layers.map((one) => described(one, "application/vnd.oci.image.layer.v1.tar+gzip")),
    ...extra,
  });
}

/** Returns a user's repository, whose model does not exist yet. */
export async function newRepository(name = "story"): Promise<Repository & { username: string }> {
  const { client, username } = await newUser();
  return Object.assign(new Repository(client, `${username}/${name}`), { username });
}

export const anonymous = new Client(undefined);

export async function expectError(
  response: Response,
  status: number,
  code: RegistryErrorCode,
): Promise<string> {
  const text = await response.text();
  expect(response.status, text).toBe(status);
  const { errors } = registryErrors.parse(JSON.parse(text));
  expect(errors[0]?.code).toBe(code);
  return errors[0]?.message ?? "";
}
