/** The tokens and keys of the journeys' deployments: the same in all of them. */
export const OPERATOR_TOKEN = "an-operator-token-for-journeys";

/** The owner of the models and the token, unless a world names another. */
export const USERNAME = "ada";

export const LOCAL = {
  port: 0,
  operatorToken: OPERATOR_TOKEN,
  secretKey: "a-secret-key-for-tests-of-32-chars",
};
