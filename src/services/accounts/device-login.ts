/**
 * `auspex login` in a browser (RFC 8628): the command shows a code, a person enters and approves it in the
 * dashboard, and the command gets an access token of that person once.
 */
import { isToken, newToken, sha256 } from "../../domain/accounts/token.ts";
import { newUserCode, shownUserCode, typedUserCode } from "../../domain/accounts/user-code.ts";
import { notFound, ProblemError } from "../../errors/errors.ts";
import { describeRequest } from "../../lib/current-request.ts";
import {
  DEVICE_PAGE,
  type DeviceAuthorization,
  type DeviceRefusal,
  type DeviceToken,
} from "../../protocol/device-login.ts";
import { DEFAULT_SCOPES } from "../../protocol/operator.ts";
import {
  answerLogin,
  findOpenLogin,
  insertDeviceLogin,
  pollLogin,
} from "../../storage/accounts/device-logins.ts";
import type { Services } from "../services.ts";
import { createToken } from "./tokens.ts";

const LIFETIME_SECONDS = 600;
const INTERVAL_SECONDS = 5;

/** The lifetime of the token, which is the default of the form for tokens, too. */
export const TOKEN_DAYS = 90;
const DAY_SECONDS = 86_400;

/** The name of the token by that of the machine; `auspex switch` names its tokens alike. */
export const tokenName = (deviceName: string): string => `auspex on ${deviceName}`;

/** @param name of the machine, as the command says */
export async function beginDeviceLogin(
  { db }: Services,
  name: string,
  origin: string,
): Promise<DeviceAuthorization> {
  const device_code = newToken("ausd");
  const user_code = newUserCode();
  const created_at = Date.now();
  const expires_at = created_at + LIFETIME_SECONDS * 1_000;
  const hash = await sha256(device_code);
  await insertDeviceLogin(db, { hash, user_code, name, created_at, expires_at });
  return {
    device_code,
    user_code: shownUserCode(user_code),
    verification_uri: `${origin}${DEVICE_PAGE}`,
    expires_in: LIFETIME_SECONDS,
    interval: INTERVAL_SECONDS,
  };
}

export interface OpenLogin {
  /** The code as it is shown in the terminal. */
  code: string;
  /** The name of the machine, as whoever began the login says. */
  name: string;
}

/** @throws ProblemError not_found */
export async function readDeviceLogin({ db }: Services, typed: string): Promise<OpenLogin> {
  const code = typedUserCode(typed);
  const found = await findOpenLogin(db, code, Date.now());
  if (!found) throw loginGone();
  return { code: shownUserCode(code), name: found.name };
}

/** @throws ProblemError not_found, also if somebody has answered before */
export async function answerDeviceLogin(
  { db }: Services,
  userId: string,
  typed: string,
  approved: boolean,
): Promise<void> {
  const answer = { user_id: userId, approved };
  if (!(await answerLogin(db, typedUserCode(typed), answer, Date.now()))) throw loginGone();
}

/** Returns a new token for an approved login, once, or the reason why there is none. */
export async function redeemDeviceCode(
  services: Services,
  deviceCode: string,
): Promise<DeviceToken | DeviceRefusal> {
  if (!isToken(deviceCode, "ausd")) return refusal("invalid_grant");
  const now = Date.now();
  const hash = await sha256(deviceCode);
  const before = now - INTERVAL_SECONDS * 1_000;
  const { taken, row, isDue } = await pollLogin(services.db, hash, now, before);
  if (taken?.user_id) return tokenFor(services, taken.user_id, taken.name);
  if (!row) return refusal("invalid_grant");
  if (row.expires_at <= now) return refusal("expired_token");
  // The account of an approved login that is still there is suspended or deleted.
  if (row.approved !== null) return refusal("access_denied");
  return refusal(isDue ? "authorization_pending" : "slow_down");
}

async function tokenFor(
  services: Services,
  userId: string,
  deviceName: string,
): Promise<DeviceToken | DeviceRefusal> {
  const expires_in = TOKEN_DAYS * DAY_SECONDS;
  const expires_at = new Date(Date.now() + expires_in * 1_000).toISOString();
  describeRequest({ sender: { type: "user", id: userId, name: "" } });
  const request = { name: tokenName(deviceName), scopes: DEFAULT_SCOPES, expires_at };
  try {
    const { token } = await createToken(services, userId, request);
    const scope = DEFAULT_SCOPES.join(" ");
    return { access_token: token, token_type: "Bearer", expires_in, scope };
  } catch (error) {
    // The account has too many tokens, or no space.
    if (!(error instanceof ProblemError)) throw error;
    return { error: "access_denied", error_description: error.message };
  }
}

const DESCRIPTIONS: Record<DeviceRefusal["error"], string> = {
  invalid_request: "The request lacks a parameter, or one has an invalid value.",
  invalid_grant: "The device code is unknown, expired or used. Begin again.",
  authorization_pending: "Nobody has approved the login yet.",
  slow_down: `Wait ${INTERVAL_SECONDS} seconds between two requests.`,
  access_denied: "The login was denied.",
  expired_token: "The code has expired. Begin again.",
};

export const refusal = (error: DeviceRefusal["error"]): DeviceRefusal => ({
  error,
  error_description: DESCRIPTIONS[error],
});

const loginGone = () =>
  notFound("This code", "It is wrong, has expired or was used. Run auspex login again.");
