/**
 * Cloudflare's API, called with the login of wrangler: a call takes a tenth of a second, and a start of
 * wrangler one and a half of a processor. What it knows best is left to wrangler: to upload the Worker, to
 * import into D1, and to set secrets before there is a Worker.
 */
import { z } from "zod";
import type { Wrangler } from "./wrangler.ts";

const API = "https://api.cloudflare.com/client/v4";
const LIMIT_MS = 30_000;

/** What `wrangler auth token` knows: an API token or that of a login, or a key of the older kind. */
const login = z.union([
  z.object({ token: z.string() }).transform(({ token }) => ({ authorization: `Bearer ${token}` })),
  z
    .object({ key: z.string(), email: z.string() })
    .transform(({ key, email }) => ({ "x-auth-key": key, "x-auth-email": email })),
]);

const answer = z.object({
  result: z.unknown(),
  errors: z.array(z.object({ code: z.number(), message: z.string() })).default([]),
});

const account = z.object({ id: z.string(), name: z.string() });
type Account = z.infer<typeof account>;

/** Cloudflare's reason, as wrangler writes it. */
export class CloudflareRefused extends Error {
  readonly status: number;
  readonly codes: number[];

  constructor(status: number, errors: { code: number; message: string }[]) {
    super(
      errors.map(({ code, message }) => `${message} [code: ${code}]`).join(", ") ||
        `Cloudflare answered ${status}`,
    );
    this.status = status;
    this.codes = errors.map(({ code }) => code);
  }
}

export interface Call<T> {
  /** Of the result. */
  shape: z.ZodType<T>;
  body?: object;
  /** Of a bucket. */
  jurisdiction?: string | undefined;
}

export class Cloudflare {
  readonly #wrangler: Wrangler;
  readonly #base: string;
  readonly #named: string | undefined;
  #headers: Promise<Record<string, string>> | undefined;
  #accounts: Promise<Account[]> | undefined;

  /** @param account the one that wrangler.toml names, which counts before that of the environment */
  constructor(
    wrangler: Wrangler,
    account: string | undefined,
    environment: Record<string, string | undefined>,
  ) {
    this.#wrangler = wrangler;
    this.#base = environment.CLOUDFLARE_API_BASE_URL ?? API;
    this.#named = account || environment.CLOUDFLARE_ACCOUNT_ID || undefined;
  }

  /** All that the login may use. */
  accounts(): Promise<Account[]> {
    this.#accounts ??= this.#call("GET", "/accounts?per_page=50", { shape: z.array(account) });
    return this.#accounts;
  }

  /** @param path below the account. @throws CloudflareRefused */
  async call<T>(method: "GET" | "POST" | "PATCH", path: string, call: Call<T>): Promise<T> {
    return this.#call(method, `/accounts/${await this.#account()}${path}`, call);
  }

  /** Undefined: there is none, which Cloudflare says with 404. */
  async find<T>(path: string, call: Call<T>): Promise<T | undefined> {
    try {
      return await this.call("GET", path, call);
    } catch (error) {
      if (error instanceof CloudflareRefused && error.status === 404) return undefined;
      throw error;
    }
  }

  async #account(): Promise<string> {
    if (this.#named !== undefined) return this.#named;
    const accounts = await this.accounts();
    const [first, ...others] = accounts;
    if (!first) throw new Error("This login may use no account of Cloudflare. [code: 9109]");
    if (others.length === 0) return first.id;
    const names = accounts.map(({ name, id }) => `${name} (${id})`).join(", ");
    throw new Error(`More than one account available: ${names}`);
  }

  async #call<T>(method: string, path: string, { shape, body, jurisdiction }: Call<T>): Promise<T> {
    this.#headers ??= this.#login();
    const response = await fetch(this.#base + path, {
      method,
      headers: {
        ...(await this.#headers),
        ...(jurisdiction && { "cf-r2-jurisdiction": jurisdiction }),
        ...(body && { "content-type": "application/json" }),
      },
      body: body && JSON.stringify(body),
      signal: AbortSignal.timeout(LIMIT_MS),
    }).catch((error: Error) => {
      const { message } = error.cause instanceof Error ? error.cause : error;
      throw new Error(`${this.#base} is unreachable: ${message}`);
    });
    const { result, errors } = answer.parse(await response.json().catch(() => ({})));
    if (!response.ok) throw new CloudflareRefused(response.status, errors);
    return shape.parse(result);
  }

  async #login(): Promise<Record<string, string>> {
    return login.parse(JSON.parse(await this.#wrangler(["auth", "token", "--json"])));
  }
}
