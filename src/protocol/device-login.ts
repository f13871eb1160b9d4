/** `auspex login` in a browser: requests and answers of the device authorization grant (RFC 8628). */
import { z } from "zod";

export const DEVICE_AUTHORIZATION = "/oauth/device_authorization";
export const OAUTH_TOKEN = "/oauth/token";
export const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";

/** The page where a person enters the code that the command shows. */
export const DEVICE_PAGE = "/device";

/** The only client is the command, which has no secret. */
const client_id = z.literal("auspex");

export const MAX_DEVICE_NAME = 80;

/** The name of the machine has neither control characters nor marks of the direction of writing. */
const deviceName = z
  .string()
  .max(MAX_DEVICE_NAME)
  .regex(/^(?=.*\S)[^\p{C}]+$/u);

export const requestDeviceCode = z.object({ client_id, device_name: deviceName });
export type RequestDeviceCode = z.infer<typeof requestDeviceCode>;

export const deviceAuthorization = z.object({
  device_code: z.string(),
  user_code: z.string(),
  verification_uri: z.string(),
  expires_in: z.int().positive(),
  interval: z.int().positive(),
});
export type DeviceAuthorization = z.infer<typeof deviceAuthorization>;

export const requestDeviceToken = z.object({
  client_id,
  grant_type: z.literal(DEVICE_GRANT),
  device_code: z.string(),
});
export type RequestDeviceToken = z.infer<typeof requestDeviceToken>;

export const deviceToken = z.object({
  access_token: z.string(),
  token_type: z.literal("Bearer"),
  expires_in: z.int().positive(),
  scope: z.string(),
});
export type DeviceToken = z.infer<typeof deviceToken>;

export const deviceRefusal = z.object({
  error: z.enum([
    "invalid_request",
    "invalid_grant",
    "authorization_pending",
    "slow_down",
    "access_denied",
    "expired_token",
  ]),
  error_description: z.string(),
});
export type DeviceRefusal = z.infer<typeof deviceRefusal>;

export const answerDeviceLogin = z.object({
  user_code: z.string(),
  answer: z.enum(["approve", "deny"]),
});
