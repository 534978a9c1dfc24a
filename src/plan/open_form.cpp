#include "plan/open_form.h"

#include <charconv>

namespace tenon {

int open_form_of(const Plan& plan) {
  const auto setting = plan.settings.find(kOpenFormSetting);
  if (setting == plan.settings.end()) return 0;
  int form = 0;
  const std::string& text = setting->second;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), form);
  const bool is_one = read.ec == std::errc() && form > 0 && form <= std::ssize(plan.forms);
  return is_one ? form : 0;
}

}  // namespace tenon
