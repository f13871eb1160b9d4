/** Forms for logging in and signing up. */
import { z } from "zod";
import { slug } from "./common.ts";
import { chosenUsername } from "./user.ts";

export const MIN_PASSWORD = 10;
export const MAX_PASSWORD = 128;

const email = z
  .email("Enter an email address, such as ada@example.com")
  .max(254)
  .transform((text) => text.toLowerCase());

export const newPassword = z
  .string()
  .min(MIN_PASSWORD, `At least ${MIN_PASSWORD} characters`)
  .max(MAX_PASSWORD, `At most ${MAX_PASSWORD} characters`);

/** An existing password, which need not follow the current rules. */
const anyPassword = z.string().min(1, "Enter a password").max(1_000);

export const signIn = z.object({ email, password: anyPassword });

/** A code of an authenticator app, or a recovery code. */
export const signInCode = z.object({
  code: z
    .string()
    .transform((text) => text.replaceAll(/\s/g, ""))
    .pipe(z.string().min(1, "Enter a code").max(50)),
});

export const confirmation = z.object({ password: anyPassword });

/** The first code of an authenticator app, with what the page shows again if the code is wrong. */
export const confirmTotp = signInCode.extend({
  uri: z.string().startsWith("otpauth://totp/").max(1_000),
  codes: z.string().max(1_000),
});

export const signUp = z.object({
  username: chosenUsername,
  name: z.string().trim().max(100),
  email,
  password: newPassword,
});
export type SignUp = z.infer<typeof signUp>;

/** Setting a new password with an invitation. */
export const recovery = signUp.pick({ password: true });

/** Completing a sign-up with GitHub. */
export const welcome = signUp.pick({ username: true, name: true });
export type Welcome = z.infer<typeof welcome>;

export const operatorProof = z.object({ operator_token: z.string().min(1, "Paste the token") });

export const changePassword = z.object({ current: anyPassword, password: newPassword });

/** Unix ms: later recoveries, which the page did not show, stay unread. */
export const recoveriesRead = z.object({ until: z.coerce.number().int() });

export const suspension = z.object({ username: slug });

export const createInvitation = z.object({
  note: z.string().trim().min(1, "Enter who it is for").max(100),
  /** The existing user that the invitation is for; empty for a new user. */
  username: z.union([z.literal("").transform(() => undefined), slug]),
});
export type CreateInvitation = z.infer<typeof createInvitation>;
