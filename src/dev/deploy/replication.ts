/** Copies of the database near visitors. wrangler has no command for them, so Cloudflare's API is asked. */
import { z } from "zod";
import type { Configuration } from "./configuration.ts";
import type { Wrangler } from "./wrangler.ts";

export type Environment = Record<string, string | undefined>;

const API = "https://api.cloudflare.com/client/v4";
const LIMIT_MS = 30_000;

/** What `wrangler auth token` knows: an API token or that of a login, or a key of the older kind. */
const login = z.union([
  z.object({ token: z.string() }).transform(({ token }) => ({ authorization: `Bearer ${token}` })),
  z
    .object({ key: z.string(), email: z.string() })
    .transform(({ key, email }) => ({ "x-auth-key": key, "x-auth-email": email })),
]);

const accounts = z.object({ accounts: z.array(z.object({ id: z.string() })) });
const answer = z.object({
  result: z.object({ uuid: z.string() }).nullish(),
  errors: z.array(z.object({ message: z.string() })).default([]),
});

/** @throws Error with Cloudflare's reason */
export async function enableReadReplication(
  wrangler: Wrangler,
  { database, account }: Configuration,
  environment: Environment,
): Promise<void> {
  const headers = login.parse(JSON.parse(await wrangler(["auth", "token", "--json"])));
  const id = environment.CLOUDFLARE_ACCOUNT_ID ?? account ?? (await onlyAccount(wrangler));
  const base = environment.CLOUDFLARE_API_BASE_URL ?? API;
  const call = async (method: string, key: string, body?: object): Promise<string> => {
    const response = await fetch(`${base}/accounts/${id}/d1/database/${key}`, {
      method,
      headers: { ...headers, "content-type": "application/json" },
      body: body && JSON.stringify(body),
      signal: AbortSignal.timeout(LIMIT_MS),
    });
    const { result, errors } = answer.parse(await response.json());
    if (response.ok && result) return result.uuid;
    throw new Error(errors.map(({ message }) => message).join(", ") || `HTTP ${response.status}`);
  };
  const uuid = await call("GET", database);
  await call("PATCH", uuid, { read_replication: { mode: "auto" } });
}

/** Where there are several, wrangler has asked for one by now, in CLOUDFLARE_ACCOUNT_ID. */
async function onlyAccount(wrangler: Wrangler): Promise<string> {
  const [only] = accounts.parse(JSON.parse(await wrangler(["whoami", "--json"]))).accounts;
  if (!only) throw new Error("wrangler names no account");
  return only.id;
}
