/** Who may do what in the deployments of the journeys, and under which keys: the same in all of them. */
export const OPERATOR_TOKEN = "an-operator-token-for-journeys";

/** Who has the models and the token, unless a world says otherwise. */
export const USERNAME = "ada";

export const LOCAL = {
  port: 0,
  operatorToken: OPERATOR_TOKEN,
  secretKey: "a-secret-key-for-tests-of-32-chars",
};
