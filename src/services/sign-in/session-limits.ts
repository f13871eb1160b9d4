/** What sessions and invitations agree on, on both sides of better-auth. */

/** The cookie that remembers an invitation on the way to GitHub and back. */
export const INVITATION_COOKIE = "auspex.invitation";

/** How long one may stay signed in without coming back. */
export const SESSION_SECONDS = 30 * 86_400;

/** Who has only a cookie that was left somewhere adds no passkey (client/passkey.ts says so), and ends nothing. */
export const FRESH_SECONDS = 15 * 60;
