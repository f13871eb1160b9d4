CREATE TABLE `categories` (
	`slug` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`description` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `keys` (
	`name` text PRIMARY KEY NOT NULL,
	`value` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `listings` (
	`owner_id` text NOT NULL,
	`category_slug` text NOT NULL,
	`model_id` text NOT NULL,
	`predictions_count` integer NOT NULL,
	PRIMARY KEY(`owner_id`, `category_slug`, `model_id`),
	FOREIGN KEY (`model_id`) REFERENCES `models`(`id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `listings_count` ON `listings` (`owner_id`,`category_slug`,`predictions_count`,`model_id`) WHERE predictions_count > 0;--> statement-breakpoint
CREATE INDEX `listings_model` ON `listings` (`model_id`);--> statement-breakpoint
CREATE TABLE `model_categories` (
	`model_id` text NOT NULL,
	`category_slug` text NOT NULL,
	PRIMARY KEY(`model_id`, `category_slug`),
	FOREIGN KEY (`model_id`) REFERENCES `models`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`category_slug`) REFERENCES `categories`(`slug`) ON UPDATE no action ON DELETE no action
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `model_categories_slug` ON `model_categories` (`category_slug`);--> statement-breakpoint
CREATE TABLE `model_counts` (
	`model_id` text PRIMARY KEY NOT NULL,
	`predictions_count` integer DEFAULT 0 NOT NULL,
	`listed_count` integer DEFAULT 0 NOT NULL,
	FOREIGN KEY (`model_id`) REFERENCES `models`(`id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `model_counts_unlisted` ON `model_counts` (`model_id`) WHERE predictions_count <> listed_count;--> statement-breakpoint
CREATE TABLE `usernames` (
	`username` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `hardware` ADD `price_per_hour` real;--> statement-breakpoint
ALTER TABLE `models` ADD `cover_image_url` text;--> statement-breakpoint
ALTER TABLE `models` ADD `seq` integer;--> statement-breakpoint
CREATE UNIQUE INDEX `models_seq_unique` ON `models` (`seq`);--> statement-breakpoint
CREATE INDEX `models_owner` ON `models` (`owner_id`,`id`);--> statement-breakpoint
CREATE INDEX `usernames_user` ON `usernames` (`user_id`);--> statement-breakpoint
CREATE INDEX `tokens_user` ON `tokens` (`user_id`,`id`);--> statement-breakpoint
ALTER TABLE `users` ADD `bio` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `users` ADD `urls` text DEFAULT '[]' NOT NULL;--> statement-breakpoint
ALTER TABLE `users` ADD `location` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `users` ADD `company` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `users` ADD `seq` integer;--> statement-breakpoint
CREATE UNIQUE INDEX `users_seq_unique` ON `users` (`seq`);--> statement-breakpoint
ALTER TABLE `versions` ADD `repository` text;--> statement-breakpoint
ALTER TABLE `versions` ADD `deleted_at` integer;--> statement-breakpoint
-- By hand from here on (and WITHOUT ROWID above): what follows from other rows follows by trigger.
INSERT INTO keys (name, value) VALUES ('cursor', hex(randomblob(64)));--> statement-breakpoint
INSERT OR IGNORE INTO hardware (identifier, name, gpus, cpus, ram_per_gpu_gb, ram_gb, created_at)
	VALUES ('cpu', 'CPU', 0, 1, 0, 0, unixepoch() * 1000);--> statement-breakpoint
INSERT INTO categories (slug, name, description, created_at)
	SELECT value ->> 0, value ->> 1, value ->> 2, unixepoch() * 1000 FROM json_each('[
		["text-generation", "Text generation", "Write, continue, translate and summarise text"],
		["chat", "Chat", "Hold a conversation, with tools and instructions"],
		["code", "Code", "Write, complete and explain programs"],
		["embeddings", "Embeddings", "Turn text, images or sound into vectors for search and comparison"],
		["reranking", "Reranking", "Order search results by how well they answer a question"],
		["vision", "Vision", "Describe images and answer questions about them"],
		["image-generation", "Image generation", "Make images from words or from other images"],
		["image-editing", "Image editing", "Restore, upscale, inpaint and restyle images"],
		["image-segmentation", "Detection and segmentation", "Find, outline and classify what is in an image"],
		["ocr", "Documents and OCR", "Read text and layout from scans and pages"],
		["video-generation", "Video generation", "Make videos from words, images or other videos"],
		["speech-to-text", "Speech to text", "Transcribe and translate speech"],
		["text-to-speech", "Text to speech", "Read text aloud, also in a given voice"],
		["music", "Music and sound", "Make, separate and analyse music and sound"],
		["3d", "3D", "Make shapes, scenes and depth from words and images"],
		["time-series", "Time series and tables", "Forecast and classify measurements and tabular data"],
		["science", "Science", "Proteins, molecules, materials, weather"],
		["utilities", "Utilities", "Small tools that other models are used with"]
	]');--> statement-breakpoint
INSERT INTO usernames (username, user_id) SELECT username, id FROM users;--> statement-breakpoint
INSERT INTO model_counts (model_id, predictions_count)
	SELECT id, (SELECT count(*) FROM predictions WHERE model_id = models.id) FROM models;--> statement-breakpoint
INSERT INTO listings (owner_id, category_slug, model_id, predictions_count)
	SELECT owners.value, '', models.id, predictions_count FROM models JOIN model_counts ON model_id = models.id
	JOIN json_each(json_array('', owner_id)) AS owners WHERE visibility <> 'private';--> statement-breakpoint
UPDATE model_counts SET listed_count = predictions_count;--> statement-breakpoint
CREATE TRIGGER usernames_taken AFTER INSERT ON users BEGIN
	INSERT INTO usernames (username, user_id) VALUES (NEW.username, NEW.id);
END;--> statement-breakpoint
CREATE TRIGGER usernames_changed AFTER UPDATE OF username ON users WHEN NEW.username <> OLD.username BEGIN
	SELECT RAISE(ABORT, 'UNIQUE constraint failed: usernames.username')
		WHERE EXISTS (SELECT 1 FROM usernames WHERE username = NEW.username AND user_id <> NEW.id);
	INSERT OR IGNORE INTO usernames (username, user_id) VALUES (NEW.username, NEW.id);
END;--> statement-breakpoint
CREATE TRIGGER predictions_counted AFTER INSERT ON predictions BEGIN
	UPDATE model_counts SET predictions_count = predictions_count + 1 WHERE model_id = NEW.model_id;
END;--> statement-breakpoint
CREATE TRIGGER predictions_uncounted AFTER DELETE ON predictions BEGIN
	UPDATE model_counts SET predictions_count = predictions_count - 1 WHERE model_id = OLD.model_id;
END;--> statement-breakpoint
CREATE TRIGGER models_created AFTER INSERT ON models BEGIN
	INSERT INTO model_counts (model_id) VALUES (NEW.id);
	INSERT INTO listings (owner_id, category_slug, model_id, predictions_count)
		SELECT value, '', NEW.id, 0 FROM json_each(json_array('', NEW.owner_id)) WHERE NEW.visibility <> 'private';
END;--> statement-breakpoint
CREATE TRIGGER models_shown AFTER UPDATE OF visibility ON models WHEN OLD.visibility = 'private' AND NEW.visibility <> 'private' BEGIN
	INSERT INTO listings (owner_id, category_slug, model_id, predictions_count)
		SELECT owners.value, slugs.slug, NEW.id, listed_count FROM model_counts
		JOIN json_each(json_array('', NEW.owner_id)) AS owners
		JOIN (SELECT '' AS slug UNION ALL SELECT category_slug FROM model_categories WHERE model_id = NEW.id) AS slugs
		WHERE model_id = NEW.id;
END;--> statement-breakpoint
CREATE TRIGGER models_hidden AFTER UPDATE OF visibility ON models WHEN NEW.visibility = 'private' BEGIN
	DELETE FROM listings WHERE model_id = NEW.id;
END;--> statement-breakpoint
CREATE TRIGGER models_deleted BEFORE DELETE ON models BEGIN
	DELETE FROM versions WHERE model_id = OLD.id;
END;--> statement-breakpoint
CREATE TRIGGER model_categories_added AFTER INSERT ON model_categories BEGIN
	INSERT INTO listings (owner_id, category_slug, model_id, predictions_count)
		SELECT owners.value, NEW.category_slug, models.id, listed_count FROM models
		JOIN model_counts ON model_counts.model_id = models.id
		JOIN json_each(json_array('', owner_id)) AS owners
		WHERE models.id = NEW.model_id AND visibility <> 'private';
END;--> statement-breakpoint
CREATE TRIGGER model_categories_removed AFTER DELETE ON model_categories BEGIN
	DELETE FROM listings WHERE model_id = OLD.model_id AND category_slug = OLD.category_slug;
END;
