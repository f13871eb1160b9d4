/** Client of a user's uploads: one typed method per endpoint. */
import { type CreateUpload, type Upload, upload } from "../../../src/protocol/upload.ts";
import { JsonClient } from "../control-plane/json-client.ts";
import { retryCall } from "../control-plane/retry.ts";
import { VERSION } from "../version.ts";

/** Somebody waits for the first response: covers about 3 s of an unreachable service. */
const BEGIN_RETRY = { attempts: 4, baseMs: 500, maxMs: 2_000 };
/** All parts were uploaded by then: covers about 45 s, as for each of them. */
const COMPLETE_RETRY = { attempts: 8, baseMs: 500, maxMs: 15_000 };
/** The service assembles up to ten thousand parts during this call. */
const TIMEOUT_MS = 120_000;

export interface UploadClientOptions {
  url: string;
  token: string;
  signal: AbortSignal;
  onRetry: (error: unknown, delayMs: number) => void;
}

export class UploadClient {
  readonly #options: UploadClientOptions;
  readonly #service: JsonClient;

  constructor(options: UploadClientOptions) {
    this.#options = options;
    this.#service = new JsonClient(options.url, () => ({
      authorization: `Bearer ${options.token}`,
      "user-agent": `auspex-runner/${VERSION}`,
    }));
  }

  begin(body: CreateUpload): Promise<Upload> {
    return this.#retried("", BEGIN_RETRY, body);
  }

  get(id: string): Promise<Upload> {
    return this.#retried(`/${id}`, BEGIN_RETRY);
  }

  complete(id: string, etags: string[]): Promise<Upload> {
    return this.#retried(`/${id}/complete`, COMPLETE_RETRY, { etags });
  }

  #retried(path: string, retries: typeof BEGIN_RETRY, body?: object): Promise<Upload> {
    const { signal, onRetry } = this.#options;
    const call = { body, timeoutMs: TIMEOUT_MS, signal };
    return retryCall(() => this.#service.call(`/v1/uploads${path}`, upload, call), {
      ...retries,
      signal,
      onRetry,
    });
  }
}
