/** Limits of sessions, shared by better-auth's configuration and our own checks. */

/** The cookie that keeps the invitation during a sign-up with GitHub. */
export const INVITATION_COOKIE = "auspex.invitation";

/** A session ends after this long without use. */
export const SESSION_SECONDS = 30 * 86_400;

/** How recent a sign-in must be to add a passkey or delete an account: a stolen cookie is not enough. */
export const FRESH_SECONDS = 15 * 60;
