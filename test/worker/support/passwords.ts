/**
 * In the place of better-auth's own: passwords are hashed and compared as it does, each once. Scrypt
 * takes 100 ms of a processor, and nearly all accounts of the tests have the same password.
 */
import * as passwords from "@better-auth/utils/password";

export const hashPassword = once(passwords.hashPassword);
export const verifyPassword = once(passwords.verifyPassword);

/** The same arguments have the same answer. */
function once<Texts extends string[], Answer>(ask: (...texts: Texts) => Promise<Answer>) {
  const answers = new Map<string, Promise<Answer>>();
  return (...texts: Texts): Promise<Answer> => {
    const key = JSON.stringify(texts);
    const answer = answers.get(key) ?? ask(...texts);
    answers.set(key, answer);
    return answer;
  };
}
