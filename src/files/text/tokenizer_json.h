// What tokenizer.json and its companions look like whatever the model in them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/text/added_tokens.h"

namespace nadi::inline ground {
class JsonValue;
}  // namespace nadi::inline ground

namespace nadi::inline files {

class VocabularyBuilder;

// Reading. All of them throw Error (input) with the place.

// The value of `key` in `object` as it must be: absent, null or one of the plain values that mean "off": "",
// false, 0. Anything else is something we cannot do.
void require_off(const JsonValue& object, std::string_view key);

// {"token": number, ...} into the builder.
void read_vocabulary(const JsonValue& vocabulary, VocabularyBuilder& builder);

// The entries of root's "added_tokens", which are put into the builder, too.
std::vector<AddedToken> read_added_tokens(const JsonValue& root, VocabularyBuilder& builder);

// The same from "added_tokens_decoder" of a tokenizer_config.json, where the numbers are keys.
std::vector<AddedToken> read_added_tokens_decoder(const JsonValue& root, VocabularyBuilder& builder);

// A token of the vocabulary with a meaning of its own; nothing happens when it is not there, or in `tokens`
// already.
void add_special_if_present(std::string_view text, const VocabularyBuilder& builder,
                            std::vector<AddedToken>& tokens);

}  // namespace nadi::inline files
