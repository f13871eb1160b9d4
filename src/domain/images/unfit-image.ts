/** The error for an image that cannot be a version. Its message says what to do. */
export class UnfitImage extends Error {
  override readonly name = "UnfitImage";
}

/** The error for an image that has lost a part of it. */
export class LostImage extends UnfitImage {}

const BUILD = "Build it for them: docker build --platform linux/amd64 -t NAME .";

/** @param platforms of the image, such as linux/arm64 */
export const unfitPlatform = (platforms: string[]) =>
  new UnfitImage(
    platforms.length === 0
      ? `It has no image for linux/amd64, which is what runners run. ${BUILD}`
      : `It is for ${platforms.join(", ")}, and runners run linux/amd64. ${BUILD}`,
  );
