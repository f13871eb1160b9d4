/** The uploads of a user, as the service has them: one typed call for each thing that can be asked. */
import { z } from "zod";
import { type CreateUpload, type Upload, upload } from "../../../src/protocol/upload.ts";
import { problemDetail, retryAfterMs } from "../client.ts";
import { ControlPlaneError, messageOf } from "../error.ts";
import { retry } from "../retry.ts";
import { VERSION } from "../version.ts";

/** Somebody waits for the first answer: about 3 s of an unreachable service. */
const ASK = { attempts: 4, base: 500, max: 2_000 };
/** All parts are there by then: about 45 s, as for each of them. */
const COMPLETE = { attempts: 8, base: 500, max: 15_000 };
/** Ten thousand parts are put together while one waits. */
const TIMEOUT_MS = 120_000;

export interface UploadServiceOptions {
  url: string;
  token: string;
  signal: AbortSignal;
  onRetry: (error: unknown, delayMs: number) => void;
}

export class UploadService {
  readonly #options: UploadServiceOptions;

  constructor(options: UploadServiceOptions) {
    this.#options = options;
  }

  begin(body: CreateUpload): Promise<Upload> {
    return this.#retried("", ASK, body);
  }

  get(id: string): Promise<Upload> {
    return this.#retried(`/${id}`, ASK);
  }

  complete(id: string, etags: string[]): Promise<Upload> {
    return this.#retried(`/${id}/complete`, COMPLETE, { etags });
  }

  #retried(path: string, retries: typeof ASK, body?: object): Promise<Upload> {
    const { signal, onRetry } = this.#options;
    return retry(() => this.#call(path, body), { ...retries, signal, onRetry });
  }

  /** One try. A body makes it a POST. */
  async #call(path: string, body?: object): Promise<Upload> {
    const { url, signal } = this.#options;
    const { status, headers, text } = await this.#send(`${url}/v1/uploads${path}`, body);
    if (status === 200) return parse(text);
    signal.throwIfAborted();
    throw new ControlPlaneError(problemDetail(status, text), {
      status,
      retryAfterMs: retryAfterMs(headers.get("retry-after")),
    });
  }

  async #send(address: string, body?: object) {
    const { url, token, signal } = this.#options;
    const timeout = AbortSignal.timeout(TIMEOUT_MS);
    try {
      const response = await fetch(address, {
        headers: {
          authorization: `Bearer ${token}`,
          "user-agent": `auspex-runner/${VERSION}`,
          ...(body && { "content-type": "application/json" }),
        },
        ...(body && { method: "POST", body: JSON.stringify(body) }),
        signal: AbortSignal.any([signal, timeout]),
        // The token goes to the configured address and nowhere else.
        redirect: "manual",
      });
      return { status: response.status, headers: response.headers, text: await response.text() };
    } catch (error) {
      signal.throwIfAborted();
      const why = timeout.aborted ? `no answer in ${TIMEOUT_MS / 1000} s` : messageOf(error);
      throw new ControlPlaneError(`${url}: ${why}`);
    }
  }
}

function parse(text: string): Upload {
  try {
    return upload.parse(JSON.parse(text));
  } catch (error) {
    const why = error instanceof z.ZodError ? z.prettifyError(error) : messageOf(error);
    // A status, so that it is not asked again: the answer would be the same.
    throw new ControlPlaneError(`unexpected answer: ${why}`, { status: 200 });
  }
}
