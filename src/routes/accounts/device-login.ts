/** /oauth: what `auspex login` asks, in the form of RFC 8628. It is for the command, and no part of the API. */
import { type Context, Hono } from "hono";
import type { AppEnv } from "../../context.ts";
import { limitAddress, limitSignIn } from "../../middleware/rate-limit.ts";
import {
  DEVICE_AUTHORIZATION,
  OAUTH_TOKEN,
  requestDeviceCode,
  requestDeviceToken,
} from "../../protocol/device-login.ts";
import {
  beginDeviceLogin,
  redeemDeviceCode,
  refusal,
} from "../../services/accounts/device-login.ts";

export const deviceLoginRoutes = new Hono<AppEnv>()
  .post(DEVICE_AUTHORIZATION, async (c) => {
    await limitSignIn(c);
    const { data } = requestDeviceCode.safeParse(await fieldsOf(c));
    if (!data) return c.json(refusal("invalid_request"), 400);
    const { origin } = new URL(c.req.url);
    return c.json(await beginDeviceLogin(c.var.services, data.device_name, origin));
  })
  .post(OAUTH_TOKEN, async (c) => {
    // Codes cannot be guessed: the limit is for the look-up in D1.
    await limitAddress(c);
    const { data } = requestDeviceToken.safeParse(await fieldsOf(c));
    if (!data) return c.json(refusal("invalid_request"), 400);
    const answer = await redeemDeviceCode(c.var.services, data.device_code);
    return c.json(answer, "error" in answer ? 400 : 200);
  });

const FORM = /^application\/x-www-form-urlencoded\b/i;

/** Reads a form, as OAuth has it. A body of another type has no fields. */
const fieldsOf = async ({ req }: Context) =>
  FORM.test(req.header("content-type") ?? "") ? Object.fromEntries(await req.formData()) : {};
