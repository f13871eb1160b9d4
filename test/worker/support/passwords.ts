/**
 * Replaces better-auth's functions for passwords: the same calls, each made once. Scrypt takes 100 ms of a
 * processor, and nearly all accounts of the tests have the same password.
 */
import * as passwords from "@better-auth/utils/password";

export const hashPassword = once(passwords.hashPassword);
export const verifyPassword = once(passwords.verifyPassword);

/** Caches the answer of a function by its arguments. */
function once<Texts extends string[], Answer>(ask: (...texts: Texts) => Promise<Answer>) {
  const answers = new Map<string, Promise<Answer>>();
  return (...texts: Texts): Promise<Answer> => {
    const key = JSON.stringify(texts);
    const answer = answers.get(key) ?? ask(...texts);
    answers.set(key, answer);
    return answer;
  };
}
