/** Files and large values: uploads by users, requests of runners, and what R2 stores. */
import { env } from "cloudflare:workers";
import type { Json } from "../../../src/protocol/common.ts";
import { type Job, LEASE_HEADER } from "../../../src/protocol/runner.ts";
import type { CreateUpload, Upload } from "../../../src/protocol/upload.ts";
import type { UploadRow } from "../../../src/storage/files/uploads.ts";
import { Client } from "./client.ts";
import type { FakeRunner } from "./runner.ts";

export const MIB = 1024 ** 2;
/** The part size of the Worker in these tests (test/projects/worker.ts). */
export const PART = 5 * MIB;

/** A client without a token. */
export const nobody = new Client(undefined);

/** Returns bytes of which no two neighbours are alike, and others for another seed. */
export function bytesOf(length: number, seed = 1): Uint8Array<ArrayBuffer> {
  const pattern = Uint8Array.from(
    { length: Math.min(length, 65_521) },
    (_, n) => n * seed + n / 256,
  );
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at += pattern.length) {
    bytes.set(pattern.subarray(0, length - at), at);
  }
  return bytes;
}

/** Returns the SHA-256, because comparing megabytes one by one takes seconds. */
export async function digestOf(content: BufferSource | Response): Promise<string> {
  const bytes = content instanceof Response ? await content.arrayBuffer() : content;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

export const beginUpload = (client: Client, size: number, facts: Partial<CreateUpload> = {}) =>
  client.ok<Upload>("POST", "/v1/uploads", { size, mime_type: "text/plain", ...facts });

export const putPart = (url: string | undefined, body: BodyInit, headers = {}) => {
  if (url === undefined) throw new Error("no address to put a part to");
  return nobody.fetch(url, { method: "PUT", body, headers });
};

/** Sends a part, which must be accepted. @returns its ETag */
export async function sendPart(url: string | undefined, body: BodyInit): Promise<string> {
  const response = await putPart(url, body);
  const text = await response.text();
  if (response.status !== 200) throw new Error(`the part was answered ${response.status}: ${text}`);
  return response.headers.get("etag") ?? "";
}

/** Splits a file by the upload's part size, and sends all parts. */
export const sendParts = (
  { urls, part_size }: Pick<Upload, "urls" | "part_size">,
  bytes: Uint8Array,
) =>
  Promise.all(urls.map((url, n) => sendPart(url, bytes.slice(n * part_size, (n + 1) * part_size))));

export const complete = (client: Client, id: string, etags: string[]) =>
  client.json<Upload>("POST", `/v1/uploads/${id}/complete`, { etags });

/** Returns a completed upload. */
export async function uploaded(
  client: Client,
  content: Uint8Array | string = "content",
  facts: Partial<CreateUpload> = {},
): Promise<Upload> {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  const begun = await beginUpload(client, bytes.length, facts);
  const etags = await sendParts(begun, bytes);
  return client.ok("POST", `/v1/uploads/${begun.id}/complete`, { etags });
}

/** Returns the address of a completed upload's file. */
export function fileUrl({ file_url }: Upload): string {
  if (file_url === null) throw new Error("the upload is not completed");
  return file_url;
}

export const uploadRow = (id: string) =>
  env.DB.prepare("SELECT * FROM uploads WHERE id = ?").bind(id).first<UploadRow>();

/** Returns the row of an upload, which must exist. */
export async function rowOfUpload(id: string): Promise<UploadRow> {
  const row = await uploadRow(id);
  if (!row) throw new Error(`no row of the upload ${id}`);
  return row;
}

/** Returns the keys of R2 below an upload or a prediction, or all keys. */
export async function keysBelow(source = ""): Promise<string[]> {
  const { objects, truncated } = await env.FILES.list({ prefix: source });
  if (truncated) throw new Error("more keys than a page has");
  return objects.map(({ key }) => key);
}

/** Whether R2 has a multipart upload under way, which is tried with another part. */
export const isUnderWay = (key: string, multipartId: string) =>
  env.FILES.resumeMultipartUpload(key, multipartId)
    .uploadPart(1, "x")
    .then(
      () => true,
      (error: Error) => {
        if (error.message.includes("(10024)")) return false;
        throw error;
      },
    );

// ---- Calls of a runner, with the lease of its job.

const call = ({ client }: FakeRunner, { lease }: Job, path: string, init: RequestInit = {}) =>
  client.fetch(`/v1/runner${path}`, {
    ...init,
    headers: { "content-type": "application/json", ...init.headers, [LEASE_HEADER]: lease },
  });

export const readInput = (runner: FakeRunner, job: Job) => call(runner, job, "/input");

export const readFile = (runner: FakeRunner, job: Job, key: string) =>
  call(runner, job, `/files/${key}`);

export const postValue = (runner: FakeRunner, job: Job, body: BodyInit) =>
  call(runner, job, "/values", { method: "POST", body });

export const postFile = (runner: FakeRunner, job: Job, body: BodyInit, query = "?name=out.png") =>
  call(runner, job, `/files${query}`, {
    method: "POST",
    body,
    headers: { "content-type": "image/png" },
  });

export const postUpload = (runner: FakeRunner, job: Job, path: string, body: object) =>
  call(runner, job, `/uploads${path}`, { method: "POST", body: JSON.stringify(body) });

async function ok<Body>(answering: Promise<Response>): Promise<Body> {
  const response = await answering;
  if (response.status === 200) return response.json();
  throw new Error(`a runner's call was answered ${response.status}: ${await response.text()}`);
}

/** Stores a value. @returns the event that a frame reports it with */
export async function storeValue(runner: FakeRunner, job: Job, value: Json) {
  const bytes = new TextEncoder().encode(JSON.stringify(value));
  const { name } = await ok<{ name: string }>(postValue(runner, job, bytes));
  return { event: "stored" as const, data: { name, size: bytes.length } };
}

/** Stores a file. @returns its address */
export const storeFile = async (runner: FakeRunner, job: Job, body: BodyInit, name = "out.png") =>
  (await ok<{ url: string }>(postFile(runner, job, body, `?${new URLSearchParams({ name })}`))).url;

interface RunnerUpload {
  id: string;
  part_size: number;
  urls: string[];
}

/** Begins an upload in parts. */
export const beginRunnerUpload = (runner: FakeRunner, job: Job, size: number) => {
  const facts = { size, mime_type: "video/mp4", name: "film.mp4" };
  return ok<RunnerUpload>(postUpload(runner, job, "", facts));
};

/** Stores a file in parts. @returns its address */
export async function storeInParts(runner: FakeRunner, job: Job, bytes: Uint8Array) {
  const begun = await beginRunnerUpload(runner, job, bytes.length);
  const etags = await sendParts(begun, bytes);
  const answer = postUpload(runner, job, `/${begun.id}/complete`, { etags });
  return (await ok<{ url: string }>(answer)).url;
}
