/** What the forms of the dashboard take that let somebody in. */
import { z } from "zod";
import { slug } from "./common.ts";

export const MIN_PASSWORD = 10;
export const MAX_PASSWORD = 128;

const email = z
  .email("Write an e-mail address, as in ada@example.com")
  .max(254)
  .transform((text) => text.toLowerCase());

export const newPassword = z
  .string()
  .min(MIN_PASSWORD, `At least ${MIN_PASSWORD} characters`)
  .max(MAX_PASSWORD, `At most ${MAX_PASSWORD} characters`);

/** One that is compared, not chosen: its form is nobody's business. */
const anyPassword = z.string().min(1, "Write the password").max(1_000);

export const signIn = z.object({ email, password: anyPassword });

export const signUp = z.object({
  username: slug,
  name: z.string().trim().max(100),
  email,
  password: newPassword,
});
export type SignUp = z.infer<typeof signUp>;

/** Of somebody who has lost the password, and was given an invitation for a new one. */
export const recovery = signUp.pick({ password: true });

/** Of somebody who is signed in with GitHub, and has no user yet. */
export const welcome = signUp.pick({ username: true, name: true });
export type Welcome = z.infer<typeof welcome>;

export const operatorProof = z.object({ operator_token: z.string().min(1, "Paste the token") });

export const changePassword = z.object({ current: anyPassword, password: newPassword });

/** Unix ms: recoveries that came later than what the page could show stay unread. */
export const recoveriesRead = z.object({ until: z.coerce.number().int() });

export const suspension = z.object({ username: slug });

export const createInvitation = z.object({
  note: z.string().trim().min(1, "Say whom it is for").max(100),
  /** The user that whoever accepts it becomes, or signs in as anew: empty for a new one. */
  username: z.union([z.literal("").transform(() => undefined), slug]),
});
export type CreateInvitation = z.infer<typeof createInvitation>;
