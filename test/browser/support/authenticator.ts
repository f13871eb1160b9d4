/** A device that keeps passkeys, and confirms each use. */
import type { Visitor } from "./visitor.ts";

export async function addAuthenticator(visitor: Visitor): Promise<void> {
  const protocol = visitor.protocol();
  await protocol.send("WebAuthn.enable");
  await protocol.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
}
