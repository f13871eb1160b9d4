/**
 * Makes a JSON body of multipart/form-data, for calls of conventions whose clients send forms. Fields become
 * values and files become URLs, as long data URIs do (middleware/body.ts); later middleware sees only JSON.
 */
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import type { z } from "zod";
import type { AppEnv } from "../context.ts";
import { type FormField, fieldName, formObject } from "../domain/openai/form-fields.ts";
import { invalid } from "../domain/schemas/validation.ts";
import { ProblemError } from "../errors/errors.ts";
import { BudgetExceeded, ByteBudget, Held } from "../lib/byte-budget.ts";
import { whenClientLeaves } from "../lib/current-request.ts";
import { type Average, LEAST_SPEED, MinimumSpeed } from "../lib/minimum-speed.ts";
import { boundaryOf, MalformedForm, MultipartParser, type PartHead } from "../lib/multipart.ts";
import { logger } from "../log.ts";
import type { Json } from "../protocol/common.ts";
import { openAiModelName } from "../protocol/openai/chat.ts";
import type { OpenAiCall } from "../protocol/runner.ts";
import { findCallable } from "../services/openai/calls.ts";
import {
  type FormFile,
  FormFiles,
  KEPT_BYTES,
  PART_BYTES,
} from "../services/predictions/form-files.ts";
import { brokenOff, busy, requirePlain, tooLarge } from "./body-reader.ts";

/**
 * Reads a form, after authentication. A form for an unknown model is refused where it names the model.
 * Official clients do that after the files as well as before: files that came first are stored and discarded,
 * so that a caller may cost at most as much as a form may have.
 * @param schema of the body
 */
export const takesForm = (call: OpenAiCall, schema: z.ZodObject) =>
  createMiddleware<AppEnv>(async (c, next) => {
    const boundary = boundaryOf(c.req.header("content-type") ?? "");
    if (boundary === undefined) return next();
    const { services, caller } = c.var;
    const { url, method, signal } = c.req.raw;
    const files = new FormFiles(services, new URL(url).origin);
    const reader = new FormReader(c.req.raw, {
      boundary,
      owner: caller.user_id,
      maxBytes: services.settings.partSizes.largest,
      files,
      onField: async ({ name, value }) => {
        const model = name === "model" ? openAiModelName.safeParse(value).data : undefined;
        if (model !== undefined) await findCallable(services, caller, model, call);
      },
    });
    const releaseOther = c.var.releaseBody;
    c.set("releaseBody", () => {
      reader.release();
      releaseOther?.();
    });
    const discard = discarding(files);
    whenClientLeaves(discard);
    try {
      giveBody(c, formObject(await reader.read(), schema));
      c.set("inlineFiles", files.sent);
      const headers = new Headers(c.req.raw.headers);
      headers.set("content-type", "application/json");
      c.req.raw = new Request(url, { method, headers, signal });
      await next();
    } finally {
      reader.release();
      c.executionCtx.waitUntil(discard());
    }
  });

/** Reads a form whose files the route itself keeps. Files that it does not keep are discarded. */
export async function readForm<Result>(
  c: Context<AppEnv>,
  take: (fields: FormField[], sent: FormFiles["sent"]) => Promise<Result>,
): Promise<Result> {
  const boundary = boundaryOf(c.req.header("content-type") ?? "");
  if (boundary === undefined) {
    const detail = "Send a form: 'Content-Type: multipart/form-data'.";
    throw new ProblemError("unsupported_media_type", detail);
  }
  const { services, caller } = c.var;
  const files = new FormFiles(services, new URL(c.req.url).origin);
  const reader = new FormReader(c.req.raw, {
    boundary,
    owner: caller.user_id,
    maxBytes: services.settings.partSizes.largest,
    files,
    onField: async () => {},
  });
  const discard = discarding(files);
  whenClientLeaves(discard);
  try {
    return await take(await reader.read(), files.sent);
  } finally {
    reader.release();
    c.executionCtx.waitUntil(discard());
  }
}

const discarding = (files: FormFiles) => () =>
  files.discard().catch((error) => logger.warn("Files of a form not discarded", { error }));

/**
 * Sets the body. It is a function of its own, so that no closure holds the body while the answer is awaited.
 */
function giveBody(c: Context<AppEnv>, body: Record<string, Json>): void {
  c.var.bodies?.push(body);
  Object.assign(c.req, { json: async () => body });
}

const MIB = 1024 * 1024;

/** The parts of a form at most: an input may have 90 files, and a form a few fields besides them. */
const MAX_PARTS = 256;
/** The limit of all fields together: a prompt has 32,000 characters at most. */
const MAX_FIELD_BYTES = MIB;

const FORM_BYTES = PART_BYTES + KEPT_BYTES + MAX_FIELD_BYTES;

/**
 * The memory of forms, besides that of other bodies: two long forms of one account at a time, and three of
 * all.
 */
const budget = new ByteBudget({
  shared: 3 * FORM_BYTES,
  share: 2 * FORM_BYTES,
  waiting: 16,
  patience_ms: 10_000,
});

/**
 * The average speed of a form, with which the longest one arrives within 12 minutes. At the speed of other
 * bodies it would keep others out for 100 minutes.
 */
const AVERAGE: Average = { bytesPerSecond: 150_000, graceMs: 60_000 };

export interface FormOptions {
  boundary: string;
  /** Forms of the same account share a budget. */
  owner: string;
  maxBytes: number;
  files: FormFiles;
  /** Called with each field as it has arrived, before the rest is read. */
  onField: (field: FormField) => Promise<void>;
}

export class FormReader {
  readonly #request: Request;
  readonly #options: FormOptions;
  readonly #held: Held;
  readonly #fields: FormField[] = [];
  #parts = 0;
  #fieldBytes = 0;
  #name = "";
  #file: FormFile | undefined;
  /** The text of a field: bytes would keep the whole chunk that they came in. */
  #text = "";
  #decoder = newDecoder();

  constructor(request: Request, options: FormOptions) {
    this.#request = request;
    this.#options = options;
    this.#held = new Held(options.owner);
  }

  /** Frees the memory that the form holds. */
  release = (): void => budget.release(this.#held);

  /** @throws ProblemError, ValidationFailure, and the errors of `onField` */
  async read(): Promise<FormField[]> {
    const { boundary } = this.#options;
    const parser = new MultipartParser(boundary);
    const speed = new MinimumSpeed(tooSlow, AVERAGE);
    try {
      for await (const chunk of this.#chunks(speed)) {
        for (const event of wellFormed(() => [...parser.feed(chunk)])) {
          if (event.kind === "head") await speed.excluding(this.#begin(event.head));
          else if (event.kind === "bytes") await speed.excluding(this.#add(event.bytes));
          else await speed.excluding(this.#end());
        }
      }
      wellFormed(() => parser.end());
    } finally {
      speed.end();
    }
    return this.#fields;
  }

  async *#chunks(speed: MinimumSpeed): AsyncGenerator<Uint8Array> {
    requirePlain(this.#request);
    const { maxBytes } = this.#options;
    const length = Number(this.#request.headers.get("content-length") ?? FORM_BYTES);
    if (length > maxBytes) throw tooLong(maxBytes);
    const reader: ReadableStreamDefaultReader<Uint8Array> | undefined =
      this.#request.body?.getReader();
    if (!reader) return;
    try {
      await speed.excluding(this.#hold(Math.min(length, FORM_BYTES)));
      for (let size = 0; ; ) {
        const { done, value } = await Promise.race([reader.read().catch(brokenOff), speed.tooSlow]);
        if (done) return;
        size += value.byteLength;
        if (size > maxBytes) throw tooLong(maxBytes);
        speed.received(value.byteLength);
        yield value;
      }
    } finally {
      await reader.cancel().catch(() => {});
    }
  }

  async #hold(bytes: number): Promise<void> {
    try {
      await budget.take(this.#held, bytes);
    } catch (error) {
      throw error instanceof BudgetExceeded ? busy() : error;
    }
  }

  async #begin(head: PartHead): Promise<void> {
    this.#parts += 1;
    if (this.#parts > MAX_PARTS) throw tooLarge(`A form can have at most ${MAX_PARTS} parts.`);
    if (fieldName(head.name) === undefined)
      throw invalid(
        ["body"],
        "Field names must have 1 to 200 characters, optionally followed by [].",
      );
    this.#name = head.name;
    this.#file = head.filename === undefined ? undefined : await this.#options.files.begin(head);
  }

  async #add(bytes: Uint8Array): Promise<void> {
    if (this.#file) return this.#file.add(bytes);
    this.#fieldBytes += bytes.length;
    if (this.#fieldBytes > MAX_FIELD_BYTES)
      throw tooLarge("The fields of a form can have at most 1 MiB in total, excluding files.");
    this.#text += utf8(() => this.#decoder.decode(bytes, { stream: true }));
  }

  async #end(): Promise<void> {
    const value = this.#file
      ? await this.#options.files.end(this.#file)
      : this.#text + utf8(() => this.#decoder.decode());
    this.#text = "";
    this.#decoder = newDecoder();
    const field = { name: this.#name, value };
    this.#fields.push(field);
    if (!this.#file) await this.#options.onField(field);
  }
}

const newDecoder = () => new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

function utf8(decode: () => string): string {
  try {
    return decode();
  } catch {
    throw invalid(["body"], "The fields of a form must be UTF-8.");
  }
}

function wellFormed<Result>(parse: () => Result): Result {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof MalformedForm)) throw error;
    throw new ProblemError("bad_request", `The form is malformed: ${error.message}.`);
  }
}

const tooSlow = () =>
  new ProblemError(
    "request_timeout",
    `The form arrived too slowly: ${LEAST_SPEED} After the first minute, so are ${AVERAGE.bytesPerSecond / 1_000} kB a second on average. ${INSTEAD}`,
  );

const INSTEAD = "Upload longer files with POST /v1/uploads, and send their URLs in a JSON body.";

const tooLong = (bytes: number) =>
  tooLarge(`A form can have at most ${Math.floor(bytes / MIB)} MiB. ${INSTEAD}`);
