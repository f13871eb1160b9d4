/** The image cannot be a version here. The message says what to do. */
export class UnfitImage extends Error {
  override readonly name = "UnfitImage";
}

/** It was there, and something that it is made of is not any more. */
export class LostImage extends UnfitImage {}

const BUILD = "Build it for them: docker build --platform linux/amd64 -t NAME .";

/** @param platforms what it is for, as in linux/arm64 */
export const unfitPlatform = (platforms: string[]) =>
  new UnfitImage(
    platforms.length === 0
      ? `It has no image for linux/amd64, which is what runners run. ${BUILD}`
      : `It is for ${platforms.join(", ")}, and runners run linux/amd64. ${BUILD}`,
  );
