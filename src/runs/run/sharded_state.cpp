#include "nadi/run/sharded_state.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "nadi/base/atomic_folder.h"
#include "nadi/base/format.h"
#include "nadi/checkpoint/checkpoint_names.h"
#include "nadi/checkpoint/checksum_manifest.h"
#include "nadi/checkpoint/element_conversion.h"
#include "nadi/checkpoint/pretrained_folder.h"
#include "nadi/checkpoint/safetensors_reader.h"
#include "nadi/checkpoint/training_state.h"
#include "nadi/checkpoint/weight_writer.h"
#include "nadi/checkpoint/whole_model.h"
#include "nadi/comm/communicator.h"
#include "nadi/engine/engine.h"
#include "nadi/parallel/stage_programs.h"
#include "nadi/run/sharded_state_transfer.h"
#include "nadi/run/weights.h"

namespace nadi::inline runs {
namespace {

// Elements [first, first + count) of a whole tensor, in the type that is wanted.
using ReadElements =
    std::function<void(std::int64_t first, std::int64_t count, DType wanted, std::span<std::byte> out)>;

ReadElements elements_of(const WeightTensor& from) {
  return [&from](std::int64_t first, std::int64_t count, DType wanted, std::span<std::byte> out) {
    from.read(first, count, wanted, out);
  };
}

// Rectangles of the tensor: the rest of a row, whole rows, the beginning of one.
ReadElements elements_of(const WholeModel& model, const WholeTensor& tensor) {
  return [&model, &tensor, stored = std::vector<std::byte>()](
             std::int64_t first, std::int64_t count, DType wanted, std::span<std::byte> out) mutable {
    const std::int64_t columns = tensor.columns();
    stored.resize(static_cast<std::size_t>(count * size_of(tensor.dtype)));
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t column = (first + done) % columns, left = count - done;
      const std::int64_t rows = column == 0 && left >= columns ? left / columns : 1;
      const TensorBlock block{.row = (first + done) / columns,
                              .rows = rows,
                              .column = column,
                              .columns = rows > 1 ? columns : std::min(left, columns - column)};
      model.read(tensor, block,
                 std::span(stored).subspan(static_cast<std::size_t>(done * size_of(tensor.dtype)),
                                           tensor.bytes_of(block)));
      done += block.elements();
    }
    convert_elements(tensor.dtype, stored.data(), wanted, out.data(), static_cast<std::size_t>(count));
  };
}

// Reads variables from pieces of tensors; what no piece covers is zero.
class PieceReader {
 public:
  explicit PieceReader(Engine& engine) : engine_(engine) {}

  void read(const LogicalPiece& piece, std::int64_t elements, const ReadElements& from) {
    const Tensor& variable = *engine_.find_variable(piece.variable);
    if (started_.insert(piece.variable).second && piece.elements() < variable.shape.elements())
      clear(variable);
    const std::int64_t most = kWindowBytes / size_of(variable.dtype);
    piece.each_run(0, elements, [&](const ElementRun& run) {
      for (std::int64_t done = 0; done < run.count;) {
        const std::int64_t count = std::min(most, run.count - done);
        window_.resize(static_cast<std::size_t>(count * size_of(variable.dtype)));
        from(run.whole + done, count, variable.dtype, window_);
        engine_.write(variable.name, run.local + done, window_);
        done += count;
      }
    });
  }

 private:
  static constexpr std::int64_t kWindowBytes = 4 << 20;

  void clear(const Tensor& variable) {
    const std::int64_t elements = variable.shape.elements(), most = kWindowBytes / size_of(variable.dtype);
    for (std::int64_t done = 0; done < elements; done += most) {
      const std::int64_t count = std::min(most, elements - done);
      window_.assign(static_cast<std::size_t>(count * size_of(variable.dtype)), std::byte{0});
      engine_.write(variable.name, done, window_);
    }
  }

  Engine& engine_;
  std::set<std::string> started_;
  std::vector<std::byte> window_;
};

// Whether the exponents of all elements have a bit that is not set: those of infinities and NaN have none.
template <class Word>
bool has_only_finite(std::span<const std::byte> bytes, Word exponent) {
  Word found = 0;
  for (std::size_t i = 0; i + sizeof(Word) <= bytes.size(); i += sizeof(Word)) {
    Word word;
    std::memcpy(&word, bytes.data() + i, sizeof word);
    found |= static_cast<Word>((word & exponent) == exponent);
  }
  return found == 0;
}

bool is_finite(std::span<const std::byte> elements, DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return has_only_finite<std::uint32_t>(elements, 0x7f800000);
    case DType::kBF16:
      return has_only_finite<std::uint16_t>(elements, 0x7f80);
    case DType::kF16:
      return has_only_finite<std::uint16_t>(elements, 0x7c00);
    default:
      return true;
  }
}

// An Error as bytes: kind, then the texts, each ended by a zero.
std::string packed(const Error& error) {
  std::string text(1, static_cast<char>(error.kind()));
  for (const std::string& part : {error.place().file, error.message(), error.hint()}) text += part + '\0';
  return text;
}

Error unpacked(const std::string& text) {
  std::array<std::string, 3> parts;
  std::size_t from = 1;
  for (std::string& part : parts) {
    part = text.c_str() + from;
    from += part.size() + 1;
  }
  return {static_cast<ErrorKind>(text[0]), {.file = parts[0]}, parts[1], parts[2]};
}

}  // namespace

ShardedState::ShardedState(Engine& engine, Communicator& world, const StagePrograms& programs,
                           WeightFormat saved_as)
    : engine_(engine),
      world_(world),
      config_(programs.config()),
      dtype_(programs.request().dtype),
      saved_as_(saved_as),
      state_(programs.config(), programs.plan(), programs.all()) {
  const auto tensors = state_.tensors();
  for (std::size_t i = 0; i < tensors.size(); ++i)
    (tensors[i].role == Role::kParameter ? parameters_ : training_tensors_).push_back(i);
  // As write_weights() orders them: it will ask for them one by one.
  const auto by_file = [&](std::size_t a, std::size_t b) {
    const FileDType type_a = file_dtype(tensors[a].dtype), type_b = file_dtype(tensors[b].dtype);
    return type_a != type_b ? type_a > type_b : tensors[a].name < tensors[b].name;
  };
  std::ranges::sort(parameters_, by_file);
  std::ranges::sort(training_tensors_, by_file);
}

std::vector<std::string> ShardedState::load_weights(const std::filesystem::path& folder, Verify verify) {
  const auto tensors = state_.tensors();
  std::vector<WantedTensor> wanted;
  std::map<std::size_t, std::size_t> place;  // of a tensor in `wanted`
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].role != Role::kParameter) continue;
    place[i] = wanted.size();
    wanted.push_back({.name = tensors[i].name, .shape = tensors[i].shape});
  }
  const PretrainedFolder files(folder, "", verify);
  const PretrainedMatch match = files.match(wanted);
  PieceReader reader(engine_);
  for (const LogicalPiece& piece : state_.held_by(world_.rank()))
    if (const auto found = place.find(piece.tensor); found != place.end())
      reader.read(piece, tensors[piece.tensor].shape.elements(), elements_of(*match.tensors[found->second]));
  files.check_rest();
  std::ranges::copy(files.notes(), std::back_inserter(notes_));
  return match.unused;
}

void ShardedState::load_training_tensors(const std::filesystem::path& checkpoint, Verify verify) {
  const SafetensorsReader file(checkpoint / kTrainingTensorsFile);
  CheckedMemory memory;
  if (verify == Verify::kYes)
    if (const auto manifest = ChecksumManifest::read(checkpoint)) manifest->watch(file, memory);
  const auto tensors = state_.tensors();
  for (const LogicalTensor& tensor : tensors) {
    if (tensor.role == Role::kParameter) continue;
    const SafetensorsTensor& saved = file.at(tensor.name);
    if (saved.shape != tensor.shape || saved.dtype != file_dtype(tensor.dtype))
      throw input_error(
          {.file = file.file()},
          format("'{}' is {} {} in the file and {} {} in this run", tensor.name, to_string(saved.dtype),
                 saved.shape.to_string(), to_string(file_dtype(tensor.dtype)), tensor.shape.to_string()),
          "continue with the model, data type and optimizer that the run was started with");
  }
  PieceReader reader(engine_);
  for (const LogicalPiece& piece : state_.held_by(world_.rank())) {
    const LogicalTensor& tensor = tensors[piece.tensor];
    if (tensor.role == Role::kParameter) continue;
    const WeightTensor saved = weight_tensor(file, file.at(tensor.name), &memory);
    reader.read(piece, tensor.shape.elements(), elements_of(saved));
  }
}

void ShardedState::load_weights(const WholeModel& model) {
  load(model, true);
  std::ranges::copy(model.notes(), std::back_inserter(notes_));
}

void ShardedState::load_training_tensors(const WholeModel& model) {
  load(model, false);
  const auto& progress = model.progress();
  if (!progress || !progress->loss_scale || engine_.find_variable("loss_scale") == nullptr) return;
  const auto scale = static_cast<float>(*progress->loss_scale);
  engine_.write_all<float>("loss_scale", std::span(&scale, 1));
}

void ShardedState::load(const WholeModel& model, bool parameters) {
  const auto tensors = state_.tensors();
  const Role role = parameters ? Role::kParameter : Role::kOptimizerState;
  std::map<std::size_t, const WholeTensor*> sources;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const LogicalTensor& tensor = tensors[i];
    if (tensor.role != role) continue;
    const WholeTensor& source = model.at(tensor.name);
    Shape stored = source.shape;
    if (stored.rank() > 0 && stored.rank() == tensor.shape.rank() && tensor.shape[0] <= source.stored_rows)
      stored.set(0, tensor.shape[0]);
    if (stored != tensor.shape)
      throw input_error({.file = source.place},
                        format("'{}' is {} in the checkpoint and {} in this run", tensor.name,
                               source.shape.to_string(), tensor.shape.to_string()),
                        "train the model that the checkpoint has");
    sources.emplace(i, &source);
  }
  PieceReader reader(engine_);
  for (const LogicalPiece& piece : state_.held_by(world_.rank()))
    if (const auto found = sources.find(piece.tensor); found != sources.end())
      reader.read(piece, tensors[piece.tensor].shape.elements(), elements_of(model, *found->second));
  model.check_rest();
}

void ShardedState::save_model(const std::filesystem::path& target, const Tokenizer* tokenizer) {
  save(target, {.tokenizer = tokenizer}, [](AtomicFolder& folder) { folder.commit(); });
}

void ShardedState::save_checkpoint(const std::filesystem::path& target, const Tokenizer* tokenizer,
                                   const TrainingState& training, OptimizerTensors tensors) {
  save(target, {.tokenizer = tokenizer, .training = &training, .tensors = tensors},
       [](AtomicFolder& folder) { folder.commit(); });
}

void ShardedState::save_checkpoint_through(const std::filesystem::path& scratch, const Tokenizer* tokenizer,
                                           const TrainingState& training, OptimizerTensors tensors,
                                           const std::function<void(const std::filesystem::path&)>& publish) {
  save(scratch, {.tokenizer = tokenizer, .training = &training, .tensors = tensors},
       [&](AtomicFolder& folder) { publish(folder.hidden_path()); });
}

void ShardedState::save(const std::filesystem::path& target, const Contents& contents,
                        const std::function<void(AtomicFolder&)>& publish) {
  std::vector<std::size_t> order = parameters_;
  if (contents.training != nullptr && contents.tensors == OptimizerTensors::kSaved)
    order.insert(order.end(), training_tensors_.begin(), training_tensors_.end());
  PieceTransfer transfer(world_, state_, order,
                         [&](const std::string& name, std::int64_t first, std::span<std::byte> into) {
                           engine_.read(name, first, into);
                         });
  std::optional<Error> failed;
  if (world_.rank() != Rank{0}) {
    transfer.send_all();
  } else {
    try {
      AtomicFolder folder(
          target,
          {.overwrite = Overwrite::kAllow, .removable = is_of_a_checkpoint, .strangers = Strangers::kKeep});
      write(folder, transfer, contents);
      publish(folder);
    } catch (const Error& error) {
      failed = error;
      transfer.discard_rest();
    }
  }
  throw_everywhere(std::move(failed));
}

void ShardedState::write(AtomicFolder& folder, PieceTransfer& transfer, const Contents& contents) {
  const auto to_write = [&](const std::vector<std::size_t>& numbers) {
    std::vector<TensorToWrite> tensors;
    for (const std::size_t number : numbers) {
      const LogicalTensor& tensor = state_.tensors()[number];
      tensors.push_back(
          {.name = tensor.name,
           .dtype = file_dtype(tensor.dtype),
           .shape = tensor.shape,
           .pieces = [&transfer, &tensor, number](const TensorSink& sink) {
             transfer.receive(number, [&](std::span<const std::byte> bytes) {
               if (tensor.role == Role::kParameter && !is_finite(bytes, tensor.dtype))
                 throw Error(
                     ErrorKind::kInfeasible, {},
                     format("parameter '{}' has elements that are not finite: it is not saved", tensor.name),
                     "try a lower learning rate or a longer warm-up");
               sink(bytes);
             });
           }});
    }
    return tensors;
  };
  write_config_and_tokenizer(folder, config_, dtype_, contents.tokenizer);
  std::map<std::string, SafetensorsSums> sums;
  const std::string weights(entry_of(saved_as_).file);
  folder.write(weights, [&](AtomicFile& file) {
    if (auto of_file = write_weights(file, saved_as_, to_write(parameters_)))
      sums.emplace(weights, std::move(*of_file));
  });
  if (contents.training != nullptr) {
    const bool tensors = contents.tensors == OptimizerTensors::kSaved;
    sums.emplace(kTrainingTensorsFile,
                 write_training_state(folder, *contents.training,
                                      tensors ? to_write(training_tensors_) : std::vector<TensorToWrite>{}));
  }
  write_checksums(folder, sums);
}

// Rank 0 says whether it failed, and how; all ranks throw that, or none does.
void ShardedState::throw_everywhere(std::optional<Error> failed) {
  if (world_.size() > 1) {
    std::string text = failed ? packed(*failed) : "";
    std::int64_t length = static_cast<std::int64_t>(text.size());
    world_.wait(world_.broadcast(kWorld, std::as_writable_bytes(std::span(&length, 1)), 0));
    if (length > 0) {
      text.resize(length);
      world_.wait(world_.broadcast(kWorld, std::as_writable_bytes(std::span(text)), 0));
      if (!failed) failed = unpacked(text);
    }
  }
  if (failed) throw *failed;
}

}  // namespace nadi::inline runs
