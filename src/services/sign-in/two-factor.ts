/** The second factor of logins with a password: codes of an authenticator app (TOTP), and recovery codes. */
import { invalid } from "../../domain/schemas/validation.ts";
import { ProblemError } from "../../errors/errors.ts";
import { logger } from "../../log.ts";
import {
  listTwoFactorsNotEncryptedWith,
  replaceTwoFactor,
} from "../../storage/accounts/sign-in.ts";
import { recordNextWrite } from "../../storage/audit/recorded-writes.ts";
import { twoFactors } from "../../storage/schema/sign-in.ts";
import { countFailure, loginEntry } from "../audit/sign-in.ts";
import type { Services } from "../services.ts";
import { authSecrets, encryptAgain, getAuth, orRefusal } from "./auth-loader.ts";

interface Source {
  origin: string;
  headers: Headers;
}

/** The address that an authenticator app reads, and the codes for the day on which the app is lost. */
export interface NewApp {
  uri: string;
  codes: string[];
}

const wrongPassword = () => invalid(["body", "password"], "Wrong password");
const wrongCode = () =>
  invalid(["body", "code"], "Wrong code. Enter the one that the app shows now");

/** Begins to set an authenticator app up. It is off until `confirmApp`. @throws ValidationFailure; ProblemError conflict */
export async function beginApp(
  services: Services,
  { origin, headers }: Source,
  password: string,
): Promise<NewApp> {
  const { api } = await getAuth(services, origin);
  const begun = await orRefusal(
    api.enableTwoFactor({ body: { password, method: "totp" }, headers }),
    (code) => (code === "TOTP_ALREADY_ENABLED" ? alreadyOn() : wrongPassword()),
  );
  if (begun.method !== "totp") throw new Error("better-auth set no authenticator app up");
  return { uri: begun.totpURI, codes: begun.backupCodes };
}

const alreadyOn = () =>
  new ProblemError("conflict", "An authenticator app is set up already. Turn it off first.");

/** Turns the app on. @returns the cookies of the session that takes this one's place. @throws ValidationFailure */
export async function confirmApp(
  services: Services,
  { origin, headers }: Source,
  code: string,
): Promise<string[]> {
  const { api } = await getAuth(services, origin);
  const { headers: answered } = await orRefusal(
    api.verifyTOTP({ body: { code }, headers, returnHeaders: true }),
    wrongCode,
  );
  return answered.getSetCookie();
}

/** Replaces the recovery codes. @throws ValidationFailure */
export async function newRecoveryCodes(
  services: Services,
  userId: string,
  { origin, headers }: Source,
  password: string,
): Promise<string[]> {
  const { api } = await getAuth(services, origin);
  const entry = await loginEntry(services, "recovery_codes.created", userId);
  recordNextWrite("update", twoFactors, entry);
  const { backupCodes } = await orRefusal(
    api.generateBackupCodes({ body: { password }, headers }),
    wrongPassword,
  );
  return backupCodes;
}

/** Turns the app off. @returns the cookies of the session that takes this one's place. @throws ValidationFailure */
export async function removeApp(
  services: Services,
  { origin, headers }: Source,
  password: string,
): Promise<string[]> {
  const { api } = await getAuth(services, origin);
  const { headers: answered } = await orRefusal(
    api.disableTwoFactor({ body: { password }, headers, returnHeaders: true }),
    wrongPassword,
  );
  return answered.getSetCookie();
}

/**
 * Completes a login whose password was right, with a code of the app or a recovery code.
 * @returns the cookies that begin the session. @throws ValidationFailure; ProblemError forbidden, too_many_requests
 */
export async function signInWithCode(
  services: Services,
  { origin, headers }: Source,
  code: string,
): Promise<string[]> {
  const { api } = await getAuth(services, origin);
  const request = { body: { code }, headers, returnHeaders: true } as const;
  const isOfApp = /^\d{6}$/.test(code);
  const { headers: answered } = await orRefusal(
    isOfApp ? api.verifyTOTP(request) : api.verifyBackupCode(request),
    (reason) => {
      countFailure(services);
      return refusedLogin(reason);
    },
  );
  return answered.getSetCookie();
}

function refusedLogin(code: string | undefined): Error {
  if (code === "ACCOUNT_TEMPORARILY_LOCKED")
    return new ProblemError("too_many_requests", "Too many wrong codes. Try again in 15 minutes.", {
      "retry-after": "900",
    });
  const isOver =
    code === "INVALID_TWO_FACTOR_COOKIE" || code === "TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE";
  if (isOver)
    return new ProblemError(
      "forbidden",
      "This login has expired, or had too many wrong codes. Log in with your password again.",
    );
  return invalid(["body", "code"], "Wrong code");
}

/** Encrypts what older keys of SECRET_KEY have encrypted again, with the first one. */
export async function reEncryptTwoFactors(
  { db, settings }: Services,
  limit: number,
): Promise<void> {
  const secrets = await authSecrets(settings.secretKeys);
  const mark = `$ba$${secrets[0]?.version}$`;
  for (const row of await listTwoFactorsNotEncryptedWith(db, mark, limit)) {
    try {
      await replaceTwoFactor(db, row, {
        secret: await encryptAgain(secrets, row.secret),
        backupCodes: await encryptAgain(secrets, row.backupCodes),
      });
    } catch (error) {
      logger.error("Authenticator app not re-encrypted", { user_id: row.userId, error });
    }
  }
}
