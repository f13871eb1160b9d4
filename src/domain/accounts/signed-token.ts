/**
 * Tokens that an access token issues, for an hour at most. They have no row: the token itself has the claims, and
 * an HMAC over them.
 */
import { decodeBase64Url, encodeBase64Url } from "hono/utils/encode";
import { z } from "zod";
import { type SigningKey, signGrant, verifyGrant } from "../files/signed-url.ts";

const issued = {
  /** The access token that issued it. */
  issuer: z.string(),
  /** Unix ms. */
  expires_at: z.number(),
};

/** `ausc_…`: runs some models for a web page. */
export const clientClaims = z.object({
  ...issued,
  id: z.string(),
  /** The ids of the models that it runs. */
  models: z.array(z.string()),
  origins: z.array(z.string()),
  /** Limits of all its use; the budget is in billionths of the currency unit. Absent: none. */
  max_predictions: z.number().optional(),
  budget: z.number().optional(),
});
export type ClientClaims = z.infer<typeof clientClaims>;

/** `ause_…`: reads the events of a prediction. */
export const streamClaims = z.object({
  ...issued,
  prediction_id: z.string(),
  /** The client token that asked for it. */
  client_id: z.string().optional(),
});
export type StreamClaims = z.infer<typeof streamClaims>;

const KINDS = { ausc: clientClaims, ause: streamClaims };
type Kind = keyof typeof KINDS;
type Claims<Of extends Kind> = z.infer<(typeof KINDS)[Of]>;

const FORMAT = /^(ausc|ause)_([\w-]{1,6000})\.([\w-]{43})$/;

export function signToken<Of extends Kind>(key: SigningKey, kind: Of, claims: Claims<Of>): string {
  const bytes = new TextEncoder().encode(JSON.stringify(claims));
  const text = encodeBase64Url(bytes.buffer).replaceAll("=", "");
  return `${kind}_${text}.${signGrant(key, ["token", kind, text], 0)}`;
}

/** Whether a text has the format of such a token. */
export const isSignedToken = (token: string, kind: Kind): boolean =>
  FORMAT.exec(token)?.[1] === kind;

/** Returns the claims of a token that one of the keys has signed, also if it has expired. */
export function readSignedToken<Of extends Kind>(
  keys: readonly SigningKey[],
  kind: Of,
  token: string,
): Claims<Of> | undefined {
  const [, prefix, text = "", signature = ""] = FORMAT.exec(token) ?? [];
  if (prefix !== kind || !verifyGrant(keys, ["token", kind, text], 0, signature)) return undefined;
  const claims: unknown = JSON.parse(new TextDecoder().decode(decodeBase64Url(text)));
  return KINDS[kind].parse(claims) as Claims<Of>;
}
